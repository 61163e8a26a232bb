// <stddef.h> and <cstddef>.
#ifndef CF_STDDEF_H
#define CF_STDDEF_H
typedef decltype((char*)0 - (char*)0) ptrdiff_t;
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
namespace std {
enum class byte : unsigned char {};
struct max_align_t { long long __cf_a; double __cf_b; };
}  // namespace std
#endif  // CF_STDDEF_H
