/* Cartpole DQN in training, in plain C: the yardstick for repertory's compiled loop.
 *
 * The work of each step is that of cartpole_dqn.py beside it, in the same order: physics and rules of task 13 of
 * cartpole27, a 4-80-80-2 network, one update of ten experiences every four steps by AdaDelta with clipped gradients,
 * a target copy every 10,000 steps, a ring of 400,000 experiences, xoshiro256++. Sizes are constants, arrays are
 * contiguous, and every inner loop runs along memory so that the compiler makes vectors of it by itself.
 *
 *     gcc -O3 -march=native cartpole_dqn.c -o cartpole_dqn -lm
 *     ./cartpole_dqn WARM_UP STEPS [WEIGHTS]
 *
 * trains for WARM_UP steps, then times STEPS more and prints one line of JSON; if STEPS is 0, does that for each number
 * of steps that comes as a line on standard input. It plays whole episodes, so a few more steps than asked for. WEIGHTS
 * is a file of float32 to start from, in the order of `Network`; with repertory's initial weights both programs live
 * the same life, until rounding tells them apart.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Says that it does nothing but return a number. Otherwise gcc, which must set errno for a negative argument, takes and
 * tests square roots one by one, and a step takes more than twice as long. */
float sqrtf(float) __attribute__((const));

enum { INPUTS = 4, HIDDEN = 80, ACTIONS = 2, BATCH = 10, LANES = 16 };
enum { TRAIN_FREQ = 4, TARGET_UPDATE_INTERVAL = 10000, LEARNING_STARTS = 1000 };
enum { CAPACITY = 400000, SLOTS = CAPACITY + CAPACITY / 16 + 3 };
enum { RECENT = 100 }; /* episodes that the mean return is over */

#define EXPLORATION 0.2
#define GAMMA 0.99f
#define LEARNING_RATE 0.1f
#define RHO 0.95f
#define EPSILON 1e-7f
#define MAX_GRADIENT 10.0f

#define GRAVITY 9.8
#define TIME_STEP 0.02
#define CART_MASS 1.0
#define POLE_MASS 0.1
#define HALF_LENGTH 0.5
#define FORCE 1.0
#define POSITION_LIMIT 2.4
#define ANGLE_LIMIT (15.0 * 3.14159265358979323846 / 180.0)
#define MAX_STEPS 200
#define RESET_RANGE 0.05

/* ---------------------------------------------------------------------------------------------- random numbers */

typedef struct {
    uint64_t s[4];
} Stream;

static uint64_t rotate(uint64_t word, int by) { return (word << by) | (word >> (64 - by)); }

static void seed_stream(Stream *stream, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t mixed = seed += 0x9E3779B97F4A7C15u;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
        stream->s[i] = mixed ^ (mixed >> 31);
    }
}

static uint64_t next_word(Stream *stream) {
    uint64_t *s = stream->s;
    uint64_t word = rotate(s[0] + s[3], 23) + s[0];
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return word;
}

static double uniform(Stream *stream) { return (double)(next_word(stream) >> 11) * 0x1p-53; }

static int below(Stream *stream, int n) { return (int)(uniform(stream) * n); }

/* ---------------------------------------------------------------------------------------------------- Cartpole */

typedef struct {
    double x, x_dot, theta, theta_dot;
    int clock;
} Cartpole;

typedef enum { WENT_ON, TERMINATED, CUT_OFF, NO_STEP } Ending;

static void reset(Cartpole *cart, Stream *stream) {
    cart->x = RESET_RANGE * (2.0 * uniform(stream) - 1.0);
    cart->x_dot = RESET_RANGE * (2.0 * uniform(stream) - 1.0);
    cart->theta = RESET_RANGE * (2.0 * uniform(stream) - 1.0);
    cart->theta_dot = RESET_RANGE * (2.0 * uniform(stream) - 1.0);
    cart->clock = 0;
}

/* One explicit Euler step; the reward is 1 unless it terminates, then 0. */
static Ending step(Cartpole *cart, int action) {
    const double total_mass = CART_MASS + POLE_MASS, moment = POLE_MASS * HALF_LENGTH;
    double force = action == 1 ? FORCE : -FORCE;
    double cosine = cos(cart->theta), sine = sin(cart->theta);
    double push = (force + moment * (cart->theta_dot * cart->theta_dot) * sine) / total_mass;
    double theta_acceleration = (GRAVITY * sine - cosine * push) /
                                (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (cosine * cosine) / total_mass));
    double x_acceleration = push - moment * theta_acceleration * cosine / total_mass;
    cart->x += TIME_STEP * cart->x_dot;
    cart->x_dot += TIME_STEP * x_acceleration;
    cart->theta += TIME_STEP * cart->theta_dot;
    cart->theta_dot += TIME_STEP * theta_acceleration;
    cart->clock++;
    if (fabs(cart->x) > POSITION_LIMIT || fabs(cart->theta) > ANGLE_LIMIT) return TERMINATED;
    return cart->clock >= MAX_STEPS ? CUT_OFF : WENT_ON;
}

static void observe(const Cartpole *cart, float *observation) {
    observation[0] = (float)cart->x;
    observation[1] = (float)cart->theta;
    observation[2] = (float)cart->x_dot;
    observation[3] = (float)cart->theta_dot;
}

/* ------------------------------------------------------------------------------------------------------ replay */

/* What followed a step stands in the next slot: each observation is kept once. */
typedef struct {
    float observation[INPUTS];
    float reward;
    uint8_t action, ending;
} Slot;

typedef struct {
    Slot *slots;
    int head, used, held;
} Replay;

static int slot_after(int slot) { return slot + 1 == SLOTS ? 0 : slot + 1; }

static void forget_oldest(Replay *replay) {
    int oldest = replay->head - replay->used;
    if (oldest < 0) oldest += SLOTS;
    replay->used--;
    if (replay->slots[oldest].ending != NO_STEP) replay->held--;
}

static void store(Replay *replay, const float *observation, int action, float reward, const float *next_observation,
                  Ending ending) {
    while (replay->held >= CAPACITY || replay->used > SLOTS - 3) forget_oldest(replay);
    Slot *here = &replay->slots[replay->head];
    replay->head = slot_after(replay->head);
    Slot *there = &replay->slots[replay->head];
    memcpy(here->observation, observation, sizeof here->observation);
    here->reward = reward;
    here->action = (uint8_t)action;
    here->ending = (uint8_t)ending;
    memcpy(there->observation, next_observation, sizeof there->observation);
    replay->held++;
    replay->used++;
    if (ending == CUT_OFF) { /* the last observation needs a slot of its own, which is no experience */
        there->ending = NO_STEP;
        replay->head = slot_after(replay->head);
        replay->used++;
    }
}

static int draw(const Replay *replay, Stream *stream) {
    for (;;) {
        int slot = replay->head - replay->used + below(stream, replay->used);
        if (slot < 0) slot += SLOTS;
        if (replay->slots[slot].ending != NO_STEP) return slot;
    }
}

/* ----------------------------------------------------------------------------------------------------- network */

/* Floats only, so that an optimiser step or a target copy is one pass over WEIGHTS of them. */
typedef struct {
    float w1[INPUTS][HIDDEN], b1[HIDDEN];
    float w2[HIDDEN][HIDDEN], b2[HIDDEN];
    float w3[ACTIONS][HIDDEN], b3[ACTIONS];
} Network;

enum { WEIGHTS = sizeof(Network) / sizeof(float) };

typedef struct {
    float inputs[BATCH][INPUTS];
    float hidden_1[BATCH][HIDDEN], hidden_2[BATCH][HIDDEN];
    float outputs[BATCH][ACTIONS];
} Activations;

/* y = max(0, x w + b) for one row: the whole row of sums is carried along, so that w is read as it is stored. */
static inline void rectified_affine(const float *restrict x, int inputs, const float (*restrict w)[HIDDEN],
                                    const float *restrict b, float *restrict y) {
    float sum[HIDDEN];
    for (int j = 0; j < HIDDEN; j++) sum[j] = b[j];
    for (int k = 0; k < inputs; k++)
        for (int j = 0; j < HIDDEN; j++) sum[j] += x[k] * w[k][j];
    for (int j = 0; j < HIDDEN; j++) y[j] = sum[j] > 0.0f ? sum[j] : 0.0f;
}

/* A dot product in LANES interleaved sums, which may be taken side by side. */
static inline float dot(const float *restrict x, const float *restrict y) {
    float sums[LANES] = {0.0f};
    for (int k = 0; k < HIDDEN; k += LANES)
        for (int lane = 0; lane < LANES; lane++) sums[lane] += x[k + lane] * y[k + lane];
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int lane = 0; lane < width; lane++) sums[lane] += sums[lane + width];
    return sums[0];
}

static void forward(const Network *restrict net, Activations *restrict batch, int rows) {
    for (int i = 0; i < rows; i++) rectified_affine(batch->inputs[i], INPUTS, net->w1, net->b1, batch->hidden_1[i]);
    for (int i = 0; i < rows; i++) rectified_affine(batch->hidden_1[i], HIDDEN, net->w2, net->b2, batch->hidden_2[i]);
    for (int i = 0; i < rows; i++)
        for (int a = 0; a < ACTIONS; a++) batch->outputs[i][a] = net->b3[a] + dot(batch->hidden_2[i], net->w3[a]);
}

/* gradient_w = x^T gradient_y, gradient_b = the column sums of gradient_y. */
static inline void affine_gradient(const float *restrict x, int inputs, const float (*restrict gradient_y)[HIDDEN],
                                   float (*restrict gradient_w)[HIDDEN], float *restrict gradient_b) {
    for (int k = 0; k < inputs; k++) {
        float sum[HIDDEN] = {0.0f};
        for (int i = 0; i < BATCH; i++)
            for (int j = 0; j < HIDDEN; j++) sum[j] += x[i * inputs + k] * gradient_y[i][j];
        for (int j = 0; j < HIDDEN; j++) gradient_w[k][j] = sum[j];
    }
    for (int j = 0; j < HIDDEN; j++) gradient_b[j] = 0.0f;
    for (int i = 0; i < BATCH; i++)
        for (int j = 0; j < HIDDEN; j++) gradient_b[j] += gradient_y[i][j];
}

/* gradient_x = gradient_y w^T. Turning w over first is cheaper than dot products along its rows. */
static inline void input_gradient(const float (*restrict gradient_y)[HIDDEN], const float (*restrict w)[HIDDEN],
                                  float (*restrict gradient_x)[HIDDEN]) {
    _Alignas(64) float turned[HIDDEN][HIDDEN];
    for (int j = 0; j < HIDDEN; j++)
        for (int k = 0; k < HIDDEN; k++) turned[j][k] = w[k][j];
    for (int i = 0; i < BATCH; i++) {
        float sum[HIDDEN] = {0.0f};
        for (int j = 0; j < HIDDEN; j++)
            for (int k = 0; k < HIDDEN; k++) sum[k] += gradient_y[i][j] * turned[j][k];
        for (int k = 0; k < HIDDEN; k++) gradient_x[i][k] = sum[k];
    }
}

/* The gradient before a rectifier: zero where its output is. */
static inline void silence(float (*restrict gradient)[HIDDEN], const float (*restrict rectified)[HIDDEN]) {
    for (int i = 0; i < BATCH; i++)
        for (int j = 0; j < HIDDEN; j++) gradient[i][j] = rectified[i][j] > 0.0f ? gradient[i][j] : 0.0f;
}

static void backward(const Network *restrict net, const Activations *restrict batch,
                     const float (*restrict gradient_outputs)[ACTIONS], Network *restrict gradient) {
    _Alignas(64) float gradient_1[BATCH][HIDDEN], gradient_2[BATCH][HIDDEN];
    memset(gradient->w3, 0, sizeof gradient->w3);
    memset(gradient->b3, 0, sizeof gradient->b3);
    memset(gradient_2, 0, sizeof gradient_2);
    for (int i = 0; i < BATCH; i++)
        for (int a = 0; a < ACTIONS; a++) {
            float g = gradient_outputs[i][a];
            gradient->b3[a] += g;
            for (int j = 0; j < HIDDEN; j++) {
                gradient->w3[a][j] += g * batch->hidden_2[i][j];
                gradient_2[i][j] += g * net->w3[a][j];
            }
        }
    silence(gradient_2, batch->hidden_2);
    affine_gradient(batch->hidden_1[0], HIDDEN, gradient_2, gradient->w2, gradient->b2);
    input_gradient(gradient_2, net->w2, gradient_1);
    silence(gradient_1, batch->hidden_1);
    affine_gradient(batch->inputs[0], INPUTS, gradient_1, gradient->w1, gradient->b1);
}

/* AdaDelta (Zeiler, 2012), each element of the gradient first clipped. */
static void adadelta(float *restrict weights, const float *restrict gradient, float *restrict square_average,
                     float *restrict step_average) {
    for (int i = 0; i < WEIGHTS; i++) {
        float g = gradient[i];
        g = g > MAX_GRADIENT ? MAX_GRADIENT : g;
        g = g < -MAX_GRADIENT ? -MAX_GRADIENT : g;
        float v = RHO * square_average[i] + (1.0f - RHO) * g * g;
        float change = g * sqrtf((step_average[i] + EPSILON) / (v + EPSILON));
        square_average[i] = v;
        step_average[i] = RHO * step_average[i] + (1.0f - RHO) * change * change;
        weights[i] -= LEARNING_RATE * change;
    }
}

/* --------------------------------------------------------------------------------------------------------- DQN */

static _Alignas(64) Network weights, target_weights, gradient, square_average, step_average;
static _Alignas(64) Activations acting, online, target;
static Replay replay;
static Stream policy_stream;
static long life, updates, episodes;
static double loss_total, recent_returns[RECENT];

static void fill_glorot(float *layer, int inputs, int outputs) {
    double limit = sqrt(6.0 / (inputs + outputs));
    for (int i = 0; i < inputs * outputs; i++) layer[i] = (float)(limit * (2.0 * uniform(&policy_stream) - 1.0));
}

static void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(EXIT_FAILURE);
}

static void read_weights(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(&weights, sizeof weights, 1, file) != 1) fail("cannot read the weights");
    fclose(file);
}

static void make_policy(uint64_t seed, const char *path) {
    replay.slots = calloc(SLOTS, sizeof *replay.slots);
    if (replay.slots == NULL) fail("no memory for the replay");
    seed_stream(&policy_stream, seed);
    if (path != NULL) {
        read_weights(path);
    } else {
        fill_glorot(weights.w1[0], INPUTS, HIDDEN);
        fill_glorot(weights.w2[0], HIDDEN, HIDDEN);
        fill_glorot(weights.w3[0], HIDDEN, ACTIONS);
    }
    target_weights = weights;
}

static int best_action(const float *values) {
    int best = 0;
    for (int a = 1; a < ACTIONS; a++)
        if (values[a] > values[best]) best = a;
    return best;
}

static int act(const float *observation) {
    if (uniform(&policy_stream) < EXPLORATION) return below(&policy_stream, ACTIONS);
    memcpy(acting.inputs[0], observation, sizeof acting.inputs[0]);
    forward(&weights, &acting, 1);
    return best_action(acting.outputs[0]);
}

static void update(void) {
    const float scale = 2.0f / (BATCH * ACTIONS);
    float gradient_outputs[BATCH][ACTIONS] = {{0.0f}};
    int drawn[BATCH];
    for (int i = 0; i < BATCH; i++) drawn[i] = draw(&replay, &policy_stream);
    for (int i = 0; i < BATCH; i++) {
        memcpy(online.inputs[i], replay.slots[drawn[i]].observation, sizeof online.inputs[i]);
        memcpy(target.inputs[i], replay.slots[slot_after(drawn[i])].observation, sizeof target.inputs[i]);
    }
    forward(&weights, &online, BATCH);
    forward(&target_weights, &target, BATCH);
    for (int i = 0; i < BATCH; i++) {
        const Slot *slot = &replay.slots[drawn[i]];
        float goal = slot->reward;
        if (slot->ending != TERMINATED) goal += GAMMA * target.outputs[i][best_action(target.outputs[i])];
        float error = online.outputs[i][slot->action] - goal;
        gradient_outputs[i][slot->action] = scale * error;
        loss_total += 0.5f * scale * error * error;
    }
    backward(&weights, &online, gradient_outputs, &gradient);
    adadelta((float *)&weights, (float *)&gradient, (float *)&square_average, (float *)&step_average);
    updates++;
}

static void learn(const float *observation, int action, float reward, const float *next_observation, Ending ending) {
    store(&replay, observation, action, reward, next_observation, ending);
    life++;
    if (life >= LEARNING_STARTS && life % TRAIN_FREQ == 0) update();
    if (life % TARGET_UPDATE_INTERVAL == 0) target_weights = weights;
}

static long play_episode(uint64_t seed) {
    Stream stream;
    Cartpole cart;
    float rows[2][INPUTS];
    float *observation = rows[0], *next_observation = rows[1];
    double total_reward = 0.0;
    seed_stream(&stream, seed);
    reset(&cart, &stream);
    observe(&cart, observation);
    for (long steps = 1;; steps++) {
        int action = act(observation);
        Ending ending = step(&cart, action);
        float reward = ending == TERMINATED ? 0.0f : 1.0f;
        observe(&cart, next_observation);
        learn(observation, action, reward, next_observation, ending);
        total_reward += reward;
        if (ending != WENT_ON) {
            recent_returns[episodes++ % RECENT] = total_reward;
            return steps;
        }
        float *swapped = observation;
        observation = next_observation;
        next_observation = swapped;
    }
}

static long train(long at_least) {
    long done = 0;
    while (done < at_least) done += play_episode((uint64_t)episodes);
    return done;
}

/* ----------------------------------------------------------------------------------------------------- program */

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double mean_return(void) {
    long count = episodes < RECENT ? episodes : RECENT;
    double total = 0.0;
    for (long i = 0; i < count; i++) total += recent_returns[i];
    return count > 0 ? total / (double)count : 0.0;
}

static void train_and_report(long at_least) {
    double started = now(CLOCK_MONOTONIC), started_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    long steps = train(at_least);
    double seconds = now(CLOCK_MONOTONIC) - started, cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - started_cpu;
    printf("{\"steps\": %ld, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"steps_per_second\": %.0f, ", steps, seconds,
           cpu_seconds, (double)steps / seconds);
    printf("\"life\": %ld, \"updates\": %ld, \"episodes\": %ld, \"mean_return\": %.2f, \"loss_total\": %.9g}\n", life,
           updates, episodes, mean_return(), loss_total);
    fflush(stdout);
}

int main(int count, char **arguments) {
    if (count < 3 || count > 4) fail("usage: cartpole_dqn WARM_UP STEPS [WEIGHTS]");
    long warm_up = atol(arguments[1]), steps = atol(arguments[2]);
    make_policy(0, count == 4 ? arguments[3] : NULL);
    train(warm_up);
    if (steps > 0) {
        train_and_report(steps);
    } else {
        char line[64];
        while (fgets(line, sizeof line, stdin) != NULL) train_and_report(atol(line));
    }
    free(replay.slots);
    return EXIT_SUCCESS;
}
