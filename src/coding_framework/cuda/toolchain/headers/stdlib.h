// <stdlib.h> and <cstdlib>: what device code may call.
#ifndef CF_STDLIB_H
#define CF_STDLIB_H
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
namespace std { using ::malloc; using ::free; }
#endif  // CF_STDLIB_H
