typedef unsigned char uint8_t;
typedef unsigned int uint;
#include <stdint.h>
extern "C" __global__ void k(uint8_t* o) {
  o[0] = (uint)1;
}
