// Kernels of the judge itself: they draw inputs, check outputs and clean up, on the GPU.
//
// The candidate's process and the verifier's process load the same binary, so that the same seed
// gives the same bits in both: inputs never travel, and the verifier needs no word of the candidate's.
//
// Every block has an equal share of the elements, so all of a grid must run at once: the launch bounds here
// go with the grids in harness.py. Arrays begin at multiples of 16 bytes.

typedef unsigned int u32;
typedef unsigned long long u64;

// Element types and distributions, numbered as in harness.py.
enum { FLOAT32 = 0, FLOAT16 = 1, BFLOAT16 = 2, INT32 = 3 };
enum { NORMAL = 0, UNIFORM = 1, LARGE = 2, SMALL = 3, INTEGERS = 4, CONSTANT_ROWS = 5, OUTLIERS = 6 };
enum { FAR_BELOW = 8, FAR_ABOVE = 9 };
// A mixed drawing has the kinds of its rows as bits above the lowest eight.
enum { MIXED = 7 };

// Philox 4x32 (Salmon et al. 2011): a counter-based generator, so every group of elements stands alone. Seven
// rounds pass the tests of randomness; ten leave a margin.
template <int ROUNDS>
__device__ void philox(u64 seed, u64 counter, u32 out[4]) {
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
  u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), c2 = 0, c3 = 0;
#pragma unroll
  for (int round = 0; round < ROUNDS; ++round) {
    u64 p0 = (u64)0xD2511F53u * c0, p1 = (u64)0xCD9E8D57u * c2;
    u32 n0 = (u32)(p1 >> 32) ^ c1 ^ k0, n2 = (u32)(p0 >> 32) ^ c3 ^ k1;
    c1 = (u32)p1; c3 = (u32)p0; c0 = n0; c2 = n2;
    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
  }
  out[0] = c0; out[1] = c1; out[2] = c2; out[3] = c3;
}

// Four numbers for four neighbours, all from one call.
__device__ void draw_bits(u64 seed, u64 quad, u32 out[4]) { philox<7>(seed, quad, out); }

// A pair of standard normal values (Box-Muller). Every rounding is spelled out, and the fast functions
// of the hardware do: two kernels use this and must agree bit for bit, no more.
__device__ void normal_pair(u32 first, u32 second, float out[2]) {
  float radius = __fsqrt_rn(__fmul_rn(-2.0f, __logf(__fmul_rn(__fadd_rn((float)first, 0.5f), 2.3283064e-10f))));
  float angle = __fmul_rn(6.2831853f, __fmul_rn((float)second, 2.3283064e-10f));
  out[0] = __fmul_rn(radius, __cosf(angle));
  out[1] = __fmul_rn(radius, __sinf(angle));
}

// Nearly every index fits into 32 bits, where dividing takes a quarter of the time.
__device__ u64 row_of(u64 index, int row_length) {
  return index >> 32 ? index / (u64)row_length : (u64)((u32)index / (u32)row_length);
}

// Even over [-1, 1].
__device__ float uniform(u32 bits) { return __fadd_rn(__fmul_rn((float)bits, 4.6566129e-10f), -1.0f); }

// The value of a row in which all elements are the same.
__device__ float row_value(u64 seed, u64 row) {
  u32 bits[4];
  float both[2];
  draw_bits(seed, row, bits);
  normal_pair(bits[0], bits[1], both);
  return both[0];
}

// One of the bits of `kinds`.
__device__ int chosen_kind(u32 bits, u32 kinds) {
  int skip = (int)(bits % (u32)__popc(kinds));
  for (int kind = 0;; ++kind)
    if ((kinds >> kind & 1u) && skip-- == 0) return kind;
}

// The kinds of four elements by their rows, at random; the first row has the first. Four rows share one call.
__device__ void draw_kinds(u64 seed, u32 kinds, const u64 rows[4], int out[4]) {
  u32 bits[4];
  u64 drawn = ~0ull;
#pragma unroll
  for (int at = 0; at < 4; ++at) {
    u64 row = rows[at];
    if (at && row == rows[at - 1]) {
      out[at] = out[at - 1];
      continue;
    }
    if (row >> 2 != drawn) draw_bits(seed ^ 0x5851F42D4C957F2Dull, drawn = row >> 2, bits);
    u32 mine = (row & 2) ? ((row & 1) ? bits[3] : bits[2]) : ((row & 1) ? bits[1] : bits[0]);
    out[at] = row ? chosen_kind(mine, kinds) : __ffs(kinds) - 1;
  }
}

// Elements 4 * quad to 4 * quad + 3, of which each may be of another kind.
__device__ void draw_values(u64 seed, u64 quad, const int kinds[4], const u64 rows[4], float out[4]) {
  u32 bits[4], rare[4];
  draw_bits(seed, quad, bits);
  bool has_outliers = false, is_normal = false;
#pragma unroll
  for (int at = 0; at < 4; ++at) {
    has_outliers |= kinds[at] == OUTLIERS;
    is_normal |= kinds[at] == NORMAL || kinds[at] == LARGE || kinds[at] == SMALL || kinds[at] == OUTLIERS;
  }
  if (has_outliers) draw_bits(~seed, quad, rare);
  if (is_normal) {
    normal_pair(bits[0], bits[1], out);
    normal_pair(bits[2], bits[3], out + 2);
  }
#pragma unroll
  for (int at = 0; at < 4; ++at) {
    int kind = kinds[at];
    if (kind == UNIFORM) out[at] = uniform(bits[at]);
    else if (kind == FAR_BELOW) out[at] = __fadd_rn(__fmul_rn(200.0f, uniform(bits[at])), -600.0f);
    else if (kind == FAR_ABOVE) out[at] = __fadd_rn(__fmul_rn(200.0f, uniform(bits[at])), 600.0f);
    else if (kind == INTEGERS) out[at] = (float)(int)(bits[at] % 17u) - 8.0f;
    else if (kind == CONSTANT_ROWS) out[at] = at && rows[at] == rows[at - 1] ? out[at - 1] : row_value(seed, rows[at]);
    else if (kind == LARGE || (kind == OUTLIERS && rare[at] % 256u == 0)) out[at] = __fmul_rn(100.0f, out[at]);
    else if (kind == SMALL) out[at] = __fmul_rn(1e-3f, out[at]);
  }
}

// The same for every kind; a vector's elements count as rows of their own.
__device__ void draw_quad(u64 seed, u64 quad, int kind, int row_length, float out[4]) {
  int kinds[4] = {kind, kind, kind, kind};
  u64 rows[4] = {0, 0, 0, 0};
  bool is_mixed = (kind & 255) == MIXED;
  if (is_mixed || kind == CONSTANT_ROWS) {
    rows[0] = row_of(4 * quad, row_length);
    rows[3] = row_of(4 * quad + 3, row_length);
    bool is_one = rows[0] == rows[3];
    for (int at = 1; at < 3; ++at) rows[at] = is_one ? rows[0] : row_of(4 * quad + at, row_length);
  }
  if (is_mixed) draw_kinds(seed, (u32)kind >> 8, rows, kinds);
  draw_values(seed, quad, kinds, rows, out);
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
  u64 mine = 0, words = (bytes + 3) / 4, fours = bytes / 16;
  u64 first = blockIdx.x * (u64)blockDim.x + threadIdx.x, step = (u64)gridDim.x * blockDim.x;
  for (u64 i = first; i < fours; i += step) {
    uint4 four = ((const uint4*)data)[i];
    mine += keyed(four.x, 4 * i, key) + keyed(four.y, 4 * i + 1, key);
    mine += keyed(four.z, 4 * i + 2, key) + keyed(four.w, 4 * i + 3, key);
  }
  for (u64 i = 4 * fours + first; i < words; i += step) {
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
    philox<10>(~key, sums[i], bits);
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

// Elements 4 * quad to 4 * quad + 3 as they lie in memory; nothing for those that are past the end.
__device__ void draw_encoded(u64 seed, u64 quad, u64 count, int type, int kind, int row_length, u32 out[4]) {
  float values[4];
  draw_quad(seed, quad, kind, row_length, values);
#pragma unroll
  for (int at = 0; at < 4; ++at) out[at] = 4 * quad + at < count ? encode(values[at], type) : 0u;
}

extern "C" __global__ void __launch_bounds__(256, 5) cf_fill(void* data, u64 count, int type, int kind, int row_length, u64 seed) {
  u64 quads = (count + 3) / 4;
  bool is_wide = type == FLOAT32 || type == INT32;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < quads; i += (u64)gridDim.x * blockDim.x) {
    u32 bits[4];
    draw_encoded(seed, i, count, type, kind, row_length, bits);
    if (4 * i + 4 <= count) {
      if (is_wide) ((uint4*)data)[i] = make_uint4(bits[0], bits[1], bits[2], bits[3]);
      else ((uint2*)data)[i] = make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
      continue;
    }
#pragma unroll
    for (int at = 0; at < 3; ++at) {
      u64 place = 4 * i + at;
      if (place >= count) break;
      if (is_wide) ((u32*)data)[place] = bits[at];
      else ((unsigned short*)data)[place] = (unsigned short)bits[at];
    }
  }
}

// What cf_fill draws, as float64, with the sum that cf_checksum would find: one pass for the verifier.
extern "C" __global__ void __launch_bounds__(256, 4) cf_redraw(double* wide, u64 count, int type, int kind, int row_length, u64 seed,
                                     u64 key, u64* sum) {
  u64 mine = 0, quads = (count + 3) / 4;
  bool is_wide = type == FLOAT32 || type == INT32;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < quads; i += (u64)gridDim.x * blockDim.x) {
    u32 bits[4];
    draw_encoded(seed, i, count, type, kind, row_length, bits);
    if (4 * i + 4 <= count) {
      ((double2*)wide)[2 * i] = make_double2(decode(bits[0], type), decode(bits[1], type));
      ((double2*)wide)[2 * i + 1] = make_double2(decode(bits[2], type), decode(bits[3], type));
    }
#pragma unroll
    for (int at = 0; at < 4; ++at) {
      u64 place = 4 * i + at;
      if (place >= count) break;
      if (4 * i + 4 > count) wide[place] = decode(bits[at], type);
      if (is_wide) mine += keyed(bits[at], place, key);
      else if (at % 2 == 0) mine += keyed(bits[at] | bits[at + 1] << 16, place / 2, key);
    }
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

// Between the host's page-locked memory and the device's, in sixteens of bytes. Who waits for the card's copy
// engine gives the card to other processes meanwhile, it seems: with its copies, two in every run of a check,
// sixteen lanes spent 101 ms on the checks of a kernel, and 63 ms without (then also sent without a lease).
extern "C" __global__ void cf_copy(uint4* target, const uint4* source, u64 count) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
    target[i] = source[i];
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
