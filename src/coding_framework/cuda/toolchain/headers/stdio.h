// <stdio.h> and <cstdio>: device code has printf alone.
#ifndef CF_STDIO_H
#define CF_STDIO_H
namespace std { using ::printf; }
#endif  // CF_STDIO_H
