// <string.h> and <cstring>: what device code may call.
#ifndef CF_STRING_H
#define CF_STRING_H
namespace std { using ::memcpy; using ::memset; }
#endif  // CF_STRING_H
