#ifndef MANY_H
#define MANY_H
#define WIDTH 1000
#define HEIGHT (WIDTH / 2)
struct particle {
	double position[3];
	float mass;
	char kind;
};
typedef struct {
	float x, y;
} pair;
#endif
