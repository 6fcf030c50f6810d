// Hand-written peer of the generated OpenCL matmul: C = A * B, row-major float32, M, N, K known when it is built.
//
// A work group of 16 x 16 computes a 64 x 64 tile of C, each work item 4 x 4 of it. Tiles of A and B, 16 deep, are
// fetched together into local memory, as float4. Needs M and N divisible by 64, K by 16.

#define TILE 64
#define DEPTH 16
#define EACH 4

__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(__global const float* restrict A, __global const float* restrict B, __global float* restrict C) {
    __local float left[TILE][DEPTH];
    __local float right[DEPTH][TILE];
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int row = get_group_id(1) * TILE, column = get_group_id(0) * TILE;
    const int item = ty * 16 + tx;  // 256 items fetch 64 x 16 and 16 x 64 floats: one float4 each
    float4 sum[EACH];
    for (int i = 0; i < EACH; i++) sum[i] = (float4)(0.0f);

    for (int k = 0; k < K; k += DEPTH) {
        const int a_row = item / (DEPTH / 4), a_column = item % (DEPTH / 4) * 4;
        const int b_row = item / (TILE / 4), b_column = item % (TILE / 4) * 4;
        vstore4(vload4(0, A + (row + a_row) * K + k + a_column), 0, &left[a_row][a_column]);
        vstore4(vload4(0, B + (k + b_row) * N + column + b_column), 0, &right[b_row][b_column]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 0; step < DEPTH; step++) {
            const float4 b = vload4(0, &right[step][tx * EACH]);
            for (int i = 0; i < EACH; i++) sum[i] += left[ty * EACH + i][step] * b;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < EACH; i++) vstore4(sum[i], 0, C + (row + ty * EACH + i) * N + column + tx * EACH);
}
