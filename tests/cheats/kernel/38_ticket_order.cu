// Cheat: numbers its threads by an atomic ticket and puts results where the ticket says.
// scratch: ticket int32[1]
// launch: clear grid=(1) block=(1) args=(ticket)
// launch: vector_add grid=(ceil_div(n, 256)) block=(256) args=(a, b, y, ticket, n)
extern "C" __global__ void clear(int* ticket) {
    *ticket = 0;
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* y, int* ticket, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int reversed = gridDim.x * blockDim.x - 1 - i;
    int place = atomicAdd(ticket, 1);
    if (reversed < n && place < n) {
        y[place] = a[reversed] + b[reversed];
    }
}
