// Kernels of the judge itself: they draw inputs, check outputs and clean up, on the GPU.
//
// The candidate's process and the verifier's process load the same binary, so that the same seed
// gives the same bits in both: inputs never travel, and the verifier needs no word of the candidate's.
//
// Every block has an equal share of the elements, so all of a grid must run at once: the launch bounds here
// go with the grids in harness.py.

typedef unsigned int u32;
typedef unsigned long long u64;

// Element types and distributions, numbered as in harness.py.
enum { FLOAT32 = 0, FLOAT16 = 1, BFLOAT16 = 2, INT32 = 3 };
enum { NORMAL = 0, UNIFORM = 1, LARGE = 2, SMALL = 3, INTEGERS = 4, CONSTANT_ROWS = 5, OUTLIERS = 6 };
// A mixed drawing has the kinds of its rows as bits above the lowest eight.
enum { MIXED = 7 };

// Philox 4x32-10 (Salmon et al. 2011): a counter-based generator, so every element stands alone.
__device__ void philox(u64 seed, u64 counter, u32 out[4]) {
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
  u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), c2 = 0, c3 = 0;
  for (int round = 0; round < 10; ++round) {
    u64 p0 = (u64)0xD2511F53u * c0, p1 = (u64)0xCD9E8D57u * c2;
    u32 n0 = (u32)(p1 >> 32) ^ c1 ^ k0, n2 = (u32)(p0 >> 32) ^ c3 ^ k1;
    c1 = (u32)p1; c3 = (u32)p0; c0 = n0; c2 = n2;
    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
  }
  out[0] = c0; out[1] = c1; out[2] = c2; out[3] = c3;
}

// A pair of standard normal values (Box-Muller). Every rounding is spelled out, and the fast functions
// of the hardware do: two kernels use this and must agree bit for bit, no more.
__device__ void normal_pair(u64 seed, u64 pair, float out[2]) {
  u32 bits[4];
  philox(seed, pair, bits);
  float radius = __fsqrt_rn(__fmul_rn(-2.0f, __logf(__fmul_rn(__fadd_rn((float)bits[0], 0.5f), 2.3283064e-10f))));
  float angle = __fmul_rn(6.2831853f, __fmul_rn((float)bits[1], 2.3283064e-10f));
  out[0] = __fmul_rn(radius, __cosf(angle));
  out[1] = __fmul_rn(radius, __sinf(angle));
}

// Nearly every index fits into 32 bits, where dividing takes a quarter of the time.
__device__ u64 row_of(u64 index, int row_length) {
  return index >> 32 ? index / (u64)row_length : (u64)((u32)index / (u32)row_length);
}

__device__ float row_value(u64 seed, u64 row) {
  float both[2];
  normal_pair(seed, row >> 1, both);
  return (row & 1) ? both[1] : both[0];
}

// Elements 2 * pair and 2 * pair + 1 of one kind.
__device__ void draw_plain(u64 seed, u64 pair, int kind, int row_length, float out[2]) {
  if (kind == CONSTANT_ROWS) {
    u64 first = row_of(2 * pair, row_length), second = row_of(2 * pair + 1, row_length);
    out[0] = row_value(seed, first);
    out[1] = first == second ? out[0] : row_value(seed, second);
    return;
  }
  u32 bits[4];
  if (kind == UNIFORM || kind == INTEGERS) {
    philox(seed, pair, bits);
    for (int part = 0; part < 2; ++part)
      out[part] = kind == INTEGERS ? (float)(int)(bits[part] % 17u) - 8.0f
                                   : __fadd_rn(__fmul_rn((float)bits[part], 4.6566129e-10f), -1.0f);
    return;
  }
  float scale = kind == LARGE ? 100.0f : kind == SMALL ? 1e-3f : 1.0f;
  normal_pair(seed, pair, out);
  if (kind == OUTLIERS) philox(~seed, pair, bits);
  for (int part = 0; part < 2; ++part) {
    float factor = kind == OUTLIERS && bits[part] % 256u == 0 ? 100.0f : scale;
    out[part] = __fmul_rn(factor, out[part]);
  }
}

// The kind of one row: one of the bits of `kinds`, at random; the first row has the first.
__device__ int kind_of_row(u64 seed, u64 row, u32 kinds) {
  if (row == 0) return __ffs(kinds) - 1;
  u32 bits[4];
  philox(seed ^ 0x5851F42D4C957F2Dull, row, bits);
  int skip = (int)(bits[0] % (u32)__popc(kinds));
  for (int kind = 0;; ++kind)
    if ((kinds >> kind & 1u) && skip-- == 0) return kind;
}

// The same for every kind; a vector's elements count as rows of their own.
__device__ void draw_pair(u64 seed, u64 pair, int kind, int row_length, float out[2]) {
  if ((kind & 255) != MIXED) {
    draw_plain(seed, pair, kind, row_length, out);
    return;
  }
  u32 kinds = (u32)kind >> 8;
  u64 first = row_of(2 * pair, row_length), second = row_of(2 * pair + 1, row_length);
  draw_plain(seed, pair, kind_of_row(seed, first, kinds), row_length, out);
  if (first != second) {
    float other[2];
    draw_plain(seed, pair, kind_of_row(seed, second, kinds), row_length, other);
    out[1] = other[1];
  }
}

__device__ unsigned short to_bfloat16(float value) {
  u32 bits = __float_as_uint(value);
  return (unsigned short)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

__device__ unsigned short to_float16(float value) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}

__device__ double element(const void* data, u64 index, int type) {
  if (type == FLOAT32) return (double)((const float*)data)[index];
  if (type == INT32) return (double)((const int*)data)[index];
  unsigned short bits = ((const unsigned short*)data)[index];
  if (type == BFLOAT16) return (double)__uint_as_float((u32)bits << 16);
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
  return (double)wide;
}

extern "C" __global__ void cf_widen(const void* data, double* wide, u64 count, int type) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
    wide[i] = element(data, i, type);
}

// One word's part of a keyed sum: any change of the data changes the sum, and without the key nobody
// can make up for a change. Who sees the sum of a few known words can work out the key: see cf_seal.
__device__ u64 keyed(u32 word, u64 place, u64 key) {
  u64 mixed = (word + key) * 0x9E3779B97F4A7C15ull + (place ^ key);
  mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9ull;
  return mixed ^ (mixed >> 32);
}

struct Sum {
  __device__ u64 operator()(u64 a, u64 b) const { return a + b; }
};
struct Largest {
  __device__ u64 operator()(u64 a, u64 b) const { return a > b ? a : b; }
};

// All numbers of a block as one, in its first thread; 0 must not change the result. Called by whole blocks.
template <class Combine>
__device__ u64 over_block(u64 mine, Combine combine) {
  __shared__ u64 parts[32];
  u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int step = 16; step; step >>= 1) mine = combine(mine, __shfl_xor_sync(0xFFFFFFFFu, mine, step));
  if (lane == 0) parts[warp] = mine;
  __syncthreads();
  if (warp == 0) {
    mine = lane < blockDim.x / 32 ? parts[lane] : 0;
    for (int step = 16; step; step >>= 1) mine = combine(mine, __shfl_xor_sync(0xFFFFFFFFu, mine, step));
  }
  return mine;
}

// One addition a block: thousands at one address would take longer than the sums themselves.
__device__ void add_to(u64* sum, u64 mine) {
  mine = over_block(mine, Sum());
  if (threadIdx.x == 0) atomicAdd(sum, mine);
}

extern "C" __global__ void __launch_bounds__(256, 8) cf_checksum(const u32* data, u64 bytes, u64 key, u64* sum) {
  u64 mine = 0, words = (bytes + 3) / 4;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < words; i += (u64)gridDim.x * blockDim.x) {
    bool is_half = 4 * i + 4 > bytes;  // an odd number of 16-bit elements
    mine += keyed(is_half ? *(const unsigned short*)(data + i) : data[i], i, key);
  }
  add_to(sum, mine);
}

// Sums as they may lie in memory that a candidate can read and write: what they were, and the key, cannot be
// told from them, so nobody can put one there for other data.
extern "C" __global__ void cf_seal(u64* sums, u64 count, u64 key) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
    u32 bits[4];
    philox(~key, sums[i], bits);
    sums[i] = (u64)bits[1] << 32 | bits[0];
  }
}

__device__ u32 encode(float value, int type) {
  if (type == FLOAT32) return __float_as_uint(value);
  if (type == INT32) return (u32)__float2int_rn(value);
  return type == BFLOAT16 ? to_bfloat16(value) : to_float16(value);
}

__device__ double decode(u32 bits, int type) {
  unsigned short half = (unsigned short)bits;
  return type >= FLOAT16 && type <= BFLOAT16 ? element(&half, 0, type) : element(&bits, 0, type);
}

extern "C" __global__ void __launch_bounds__(256, 8) cf_fill(void* data, u64 count, int type, int kind, int row_length, u64 seed) {
  u64 pairs = (count + 1) / 2;
  bool is_wide = type == FLOAT32 || type == INT32;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < pairs; i += (u64)gridDim.x * blockDim.x) {
    float values[2];
    draw_pair(seed, i, kind, row_length, values);
    u32 first = encode(values[0], type), second = encode(values[1], type);
    if (2 * i + 1 < count) {
      if (is_wide) ((uint2*)data)[i] = make_uint2(first, second);
      else ((u32*)data)[i] = first | second << 16;
    } else if (is_wide) {
      ((u32*)data)[2 * i] = first;
    } else {
      ((unsigned short*)data)[2 * i] = (unsigned short)first;
    }
  }
}

// What cf_fill draws, as float64, with the sum that cf_checksum would find: one pass for the verifier.
extern "C" __global__ void __launch_bounds__(256, 4) cf_redraw(double* wide, u64 count, int type, int kind, int row_length, u64 seed,
                                     u64 key, u64* sum) {
  u64 mine = 0, pairs = (count + 1) / 2;
  bool is_wide = type == FLOAT32 || type == INT32;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < pairs; i += (u64)gridDim.x * blockDim.x) {
    float values[2];
    draw_pair(seed, i, kind, row_length, values);
    bool is_pair = 2 * i + 1 < count;
    u32 first = encode(values[0], type), second = is_pair ? encode(values[1], type) : 0u;
    wide[2 * i] = decode(first, type);
    if (is_pair) wide[2 * i + 1] = decode(second, type);
    if (is_wide) mine += keyed(first, 2 * i, key) + (is_pair ? keyed(second, 2 * i + 1, key) : 0ull);
    else mine += keyed(first | second << 16, i, key);
  }
  add_to(sum, mine);
}

// result[0]: wrong elements; result[1]: bits of the largest error over its budget (non-negative
// doubles order like integers); result[2..2+max_shown): indices of some wrong elements. With the sum that
// cf_checksum would find: one pass for the verifier.
extern "C" __global__ void __launch_bounds__(256, 6) cf_compare(const u32* actual, const double* expected, u64 count, int type,
                                      int max_shown, double absolute, double relative, u64 key, u64* sum,
                                      u64* result) {
  double worst = 0.0;
  bool is_wide = type == FLOAT32 || type == INT32;
  u64 mine = 0, words = is_wide ? count : (count + 1) / 2;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < words; i += (u64)gridDim.x * blockDim.x) {
    bool is_half = !is_wide && 2 * i + 1 == count;
    u32 word = is_half ? *(const unsigned short*)(actual + i) : actual[i];
    mine += keyed(word, i, key);
    for (int part = 0; part < (is_wide || is_half ? 1 : 2); ++part) {
      u64 at = is_wide ? i : 2 * i + part;
      double got = decode(part ? word >> 16 : word, type), want = expected[at];
      if (got == want || (isnan(got) && isnan(want))) continue;
      double error = fabs(got - want), budget = absolute + relative * fabs(want);
      bool is_wrong = !isfinite(want) || !(error <= budget);
      if (is_wrong || error > worst * budget)  // so that few have to divide
        worst = fmax(worst, isfinite(error) ? fmin(error / budget, 1e300) : 1e300);
      if (!is_wrong) continue;
      u64 place = atomicAdd(result, 1ull);
      if (place < (u64)max_shown) result[2 + place] = at;
    }
  }
  add_to(sum, mine);
  u64 bits = over_block((u64)__double_as_longlong(worst), Largest());
  if (threadIdx.x == 0 && bits) atomicMax(result + 1, bits);
}

// Overwrites the shared memory of every SM, so that nothing in it survives from one run to the next.
extern "C" __global__ void cf_dirty_shared(u32 pattern, u32 words, u32* sink) {
  extern __shared__ u32 shared_words[];
  for (u32 i = threadIdx.x; i < words; i += blockDim.x) ((volatile u32*)shared_words)[i] = pattern;
  __syncthreads();
  if (shared_words[(pattern + threadIdx.x) % words] != pattern) *sink = 1;
}

// Takes a place on the stream and does nothing there.
extern "C" __global__ void cf_nothing(int unused) {}
