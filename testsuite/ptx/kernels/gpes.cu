/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The benchmarks of GPES, Table II, small: matrix product and sum, heart
 * wall, back propagation, breadth-first search, hot spot, LU decomposition,
 * nearest neighbours, speckle-reducing diffusion (srad2).
 */
#define SIDE 16

extern "C" __global__ void mmul(unsigned *c, const unsigned *a, const unsigned *b, int n)
{
	unsigned row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;

	if (row >= n || column >= n)
		return;
	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + column];
	c[row * n + column] = sum;
}

extern "C" __global__ void madd(unsigned *c, const unsigned *a, const unsigned *b, int n)
{
	unsigned row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;

	if (row < n && column < n)
		c[row * n + column] = a[row * n + column] + b[row * n + column];
}

/* A point for each block: where around it does its template match the frame best? */
extern "C" __global__ void heart_wall(int *found, const unsigned char *frame, const unsigned char *templates,
				      const unsigned *points, int width, int height)
{
	__shared__ int best[64], where[64];
	int x = 8 + points[blockIdx.x * 2] % (width - 24), y = 8 + points[blockIdx.x * 2 + 1] % (height - 24);
	const unsigned char *t = templates + blockIdx.x * 64;
	int dx = (int)threadIdx.x % 8 - 4, dy = (int)threadIdx.x / 8 - 4, sum = 0;

	for (int j = 0; j < 8; j++)
		for (int i = 0; i < 8; i++) {
			int d = frame[(y + dy + j) * width + x + dx + i] - t[j * 8 + i];

			sum += d * d;
		}
	best[threadIdx.x] = sum;
	where[threadIdx.x] = threadIdx.x;
	for (unsigned n = 32; n; n /= 2) {
		__syncthreads();
		if (threadIdx.x < n && best[threadIdx.x + n] < best[threadIdx.x]) {
			best[threadIdx.x] = best[threadIdx.x + n];
			where[threadIdx.x] = where[threadIdx.x + n];
		}
	}
	if (threadIdx.x == 0) {
		found[blockIdx.x * 3] = x + where[0] % 8 - 4;
		found[blockIdx.x * 3 + 1] = y + where[0] / 8 - 4;
		found[blockIdx.x * 3 + 2] = best[0];
	}
}

/* Back propagation: each block the partial sums of 16 inputs for all 16 hidden units. */
extern "C" __global__ void back_forward(float *partial, float *weights, const float *input, int hidden)
{
	__shared__ float node[SIDE], weight[SIDE][SIDE];
	int at = (hidden + 1) * SIDE * blockIdx.y + (hidden + 1) * threadIdx.y + threadIdx.x + 1 + hidden + 1;

	if (threadIdx.x == 0)
		node[threadIdx.y] = input[SIDE * blockIdx.y + threadIdx.y + 1];
	__syncthreads();
	weight[threadIdx.y][threadIdx.x] = weights[at];
	__syncthreads();
	weight[threadIdx.y][threadIdx.x] *= node[threadIdx.y];
	__syncthreads();
	for (int i = 1; i <= 4; i++) {
		int power = 1 << i;

		if (threadIdx.y % power == 0)
			weight[threadIdx.y][threadIdx.x] += weight[threadIdx.y + power / 2][threadIdx.x];
		__syncthreads();
	}
	weights[at] = weight[threadIdx.y][threadIdx.x];
	__syncthreads();
	if (threadIdx.x == 0)
		partial[blockIdx.y * hidden + threadIdx.y] = weight[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void back_adjust(float *weight, float *old, const float *delta, const float *layer, int hidden)
{
	int at = (hidden + 1) * SIDE * blockIdx.y + (hidden + 1) * threadIdx.y + threadIdx.x + 1 + hidden + 1;
	int x = threadIdx.x + 1, y = SIDE * blockIdx.y + threadIdx.y + 1;
	float step = 0.25f * delta[x] * layer[y] + 0.5f * old[at];

	weight[at] += step;
	old[at] = step;
	__syncthreads();
	if (threadIdx.y == 0 && blockIdx.y == 0) {
		step = 0.25f * delta[x] + 0.5f * old[x];
		weight[x] += step;
		old[x] = step;
	}
}

extern "C" __global__ void search_visit(unsigned char *frontier, unsigned char *next, const unsigned char *visited,
					int *cost, const unsigned *first, const unsigned *edge, int n)
{
	int i = blockIdx.x * 64 + threadIdx.x;

	if (i < n && frontier[i] > 200) {
		frontier[i] = 0;
		for (unsigned e = first[i]; e < first[i + 1]; e++)
			if (visited[edge[e]] < 200) {
				cost[edge[e]] = 1000;
				next[edge[e]] = 1;
			}
	}
}

extern "C" __global__ void search_update(unsigned char *frontier, unsigned char *next, unsigned char *visited,
					 unsigned char *over, int n)
{
	int i = blockIdx.x * 64 + threadIdx.x;

	if (i < n && next[i] > 99) {
		frontier[i] = 1;
		visited[i] = 1;
		*over = 1;
		next[i] = 0;
	}
}

/* Two steps of the temperature for each launch; the tile's border becomes stale. */
extern "C" __global__ void hot_spot(float *out, const float *power, const float *in, int columns, int rows)
{
	__shared__ float temp[SIDE][SIDE], next[SIDE][SIDE];
	int inner = SIDE - 4, x = inner * blockIdx.x + (int)threadIdx.x - 2, y = inner * blockIdx.y + (int)threadIdx.y - 2;
	int valid = x >= 0 && y >= 0 && x < columns && y < rows, tx = threadIdx.x, ty = threadIdx.y;
	int north = y > 0 ? ty - 1 : ty, south = y < rows - 1 ? ty + 1 : ty;
	int west = x > 0 ? tx - 1 : tx, east = x < columns - 1 ? tx + 1 : tx, computed = 0;
	float p = valid ? power[y * columns + x] : 0;

	if (valid)
		temp[ty][tx] = in[y * columns + x];
	__syncthreads();
	for (int i = 0; i < 2; i++) {
		computed = 0;
		if (tx > i && tx < SIDE - 1 - i && ty > i && ty < SIDE - 1 - i && valid) {
			computed = 1;
			next[ty][tx] = temp[ty][tx] + 0.125f * (p + 0.5f * (temp[south][tx] + temp[north][tx] - 2 * temp[ty][tx]) +
				0.5f * (temp[ty][east] + temp[ty][west] - 2 * temp[ty][tx]) + 0.25f * (80.0f - temp[ty][tx]));
		}
		__syncthreads();
		if (i == 1)
			break;
		if (computed)
			temp[ty][tx] = next[ty][tx];
		__syncthreads();
	}
	if (computed)
		out[y * columns + x] = next[ty][tx];
}

/* LU decomposition by tiles: the corner, its row and column, the rest. */
extern "C" __global__ void lud_diagonal(float *m, int n, int offset)
{
	__shared__ float tile[SIDE][SIDE];
	int base = offset * n + offset;

	for (int i = 0; i < SIDE; i++)
		tile[i][threadIdx.x] = m[base + i * n + threadIdx.x] + (i == threadIdx.x ? 100.0f : 0.0f);
	__syncthreads();
	for (int i = 0; i < SIDE - 1; i++) {
		if (threadIdx.x > i) {
			for (int j = 0; j < i; j++)
				tile[threadIdx.x][i] -= tile[threadIdx.x][j] * tile[j][i];
			tile[threadIdx.x][i] /= tile[i][i];
		}
		__syncthreads();
		if (threadIdx.x > i)
			for (int j = 0; j < i + 1; j++)
				tile[i + 1][threadIdx.x] -= tile[i + 1][j] * tile[j][threadIdx.x];
		__syncthreads();
	}
	for (int i = 1; i < SIDE; i++)
		m[base + i * n + threadIdx.x] = tile[i][threadIdx.x];
}

extern "C" __global__ void lud_perimeter(float *m, int n, int offset)
{
	__shared__ float corner[SIDE][SIDE], row[SIDE][SIDE], column[SIDE][SIDE];
	int in_row = threadIdx.x < SIDE, t = threadIdx.x % SIDE, next = offset + (blockIdx.x + 1) * SIDE;

	for (int i = 0; i < SIDE; i++)
		if (in_row) {
			corner[i][t] = m[(offset + i) * n + offset + t];
			row[i][t] = m[(offset + i) * n + next + t];
		} else {
			column[i][t] = m[(next + i) * n + offset + t];
		}
	__syncthreads();
	if (in_row) {
		for (int i = 1; i < SIDE; i++)
			for (int j = 0; j < i; j++)
				row[i][t] -= corner[i][j] * row[j][t];
	} else {
		for (int i = 0; i < SIDE; i++) {
			for (int j = 0; j < i; j++)
				column[t][i] -= column[t][j] * corner[j][i];
			column[t][i] /= corner[i][i] + 100.0f;
		}
	}
	__syncthreads();
	for (int i = 0; i < SIDE; i++)
		if (in_row)
			m[(offset + i) * n + next + t] = row[i][t];
		else
			m[(next + i) * n + offset + t] = column[i][t];
}

extern "C" __global__ void lud_internal(float *m, int n, int offset)
{
	__shared__ float row[SIDE][SIDE], column[SIDE][SIDE];
	int y = offset + (blockIdx.y + 1) * SIDE, x = offset + (blockIdx.x + 1) * SIDE;
	float sum = 0;

	row[threadIdx.y][threadIdx.x] = m[(offset + threadIdx.y) * n + x + threadIdx.x];
	column[threadIdx.y][threadIdx.x] = m[(y + threadIdx.y) * n + offset + threadIdx.x];
	__syncthreads();
	for (int i = 0; i < SIDE; i++)
		sum += column[threadIdx.y][i] * row[i][threadIdx.x];
	m[(y + threadIdx.y) * n + x + threadIdx.x] -= sum;
}

/* The block's number counts over two dimensions, as records are many. */
extern "C" __global__ void neighbours(float *distance, const float2 *place, int n, float latitude, float longitude)
{
	int i = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;

	if (i < n) {
		float dx = latitude - place[i].x, dy = longitude - place[i].y;

		distance[i] = sqrtf(dx * dx + dy * dy);
	}
}

extern "C" __global__ void srad_coefficient(float *north, float *south, float *east, float *west, float *c,
					    const float *image, int columns, int rows, float q0)
{
	__shared__ float tile[SIDE][SIDE];
	int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y, tx = threadIdx.x, ty = threadIdx.y;
	int at = y * columns + x;
	float jc, n, s, w, e, g2, lap, num, den, q;

	tile[ty][tx] = image[at];
	__syncthreads();
	jc = tile[ty][tx];
	n = (ty > 0 ? tile[ty - 1][tx] : image[y > 0 ? at - columns : at]) - jc;
	s = (ty < SIDE - 1 ? tile[ty + 1][tx] : image[y < rows - 1 ? at + columns : at]) - jc;
	w = (tx > 0 ? tile[ty][tx - 1] : image[x > 0 ? at - 1 : at]) - jc;
	e = (tx < SIDE - 1 ? tile[ty][tx + 1] : image[x < columns - 1 ? at + 1 : at]) - jc;
	g2 = (n * n + s * s + w * w + e * e) / (jc * jc);
	lap = (n + s + w + e) / jc;
	num = 0.5f * g2 - 0.0625f * lap * lap;
	den = 1 + 0.25f * lap;
	q = num / (den * den);
	q = 1.0f / (1.0f + (q - q0) / (q0 * (1 + q0)));
	north[at] = n;
	south[at] = s;
	east[at] = e;
	west[at] = w;
	c[at] = q < 0 ? 0 : q > 1 ? 1 : q;
}

extern "C" __global__ void srad_update(float *image, const float *north, const float *south, const float *east,
				       const float *west, const float *c, int columns, int rows, float lambda)
{
	__shared__ float tile[SIDE][SIDE];
	int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y, at = y * columns + x;
	float cs, ce;

	tile[threadIdx.y][threadIdx.x] = c[at];
	__syncthreads();
	cs = threadIdx.y < SIDE - 1 ? tile[threadIdx.y + 1][threadIdx.x] : c[y < rows - 1 ? at + columns : at];
	ce = threadIdx.x < SIDE - 1 ? tile[threadIdx.y][threadIdx.x + 1] : c[x < columns - 1 ? at + 1 : at];
	image[at] += 0.25f * lambda * (tile[threadIdx.y][threadIdx.x] * (north[at] + west[at]) + cs * south[at] +
				       ce * east[at]);
}
