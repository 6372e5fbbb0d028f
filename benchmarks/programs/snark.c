// The snark deque of Detlefs, Flood, Garthwaite, Martin, Shavit, Steele (DISC 2000). Its double compare-and-swap, which no
// processor has, is a mutex around two words; nodes are not reused. (The published algorithm has two known bugs; they need
// more operations than are tried here.)
#include "bench.h"

struct node {
    struct node *_Atomic left, *_Atomic right;
    atomic_int value;
};

static struct node *dummy;
static struct node *_Atomic left_hat, *_Atomic right_hat;
static pthread_mutex_t both = PTHREAD_MUTEX_INITIALIZER;

static int dcas(struct node *_Atomic *a, struct node *_Atomic *b, struct node *old_a, struct node *old_b,
                struct node *new_a, struct node *new_b) {
    pthread_mutex_lock(&both);
    int equal = LOAD(*a) == old_a && LOAD(*b) == old_b;
    if (equal) {
        STORE(*a, new_a);
        FENCE();
        STORE(*b, new_b);
        FENCE();
    }
    pthread_mutex_unlock(&both);
    return equal;
}

static void push_right(int value) {
    struct node *node = malloc(sizeof *node);
    STORE(node->right, dummy);
    STORE(node->value, value);
    FENCE();
    for (;;) {
        struct node *right = LOAD(right_hat), *beyond = LOAD(right->right);
        if (beyond == right) {
            STORE(node->left, dummy);
            FENCE();
            struct node *left = LOAD(left_hat);
            if (dcas(&right_hat, &left_hat, right, left, node, node)) return;
        } else {
            STORE(node->left, right);
            FENCE();
            if (dcas(&right_hat, &right->right, right, beyond, node, node)) return;
        }
    }
}

static int pop_left(void) {
    for (;;) {
        struct node *left = LOAD(left_hat), *right = LOAD(right_hat);
        if (LOAD(left->left) == left) return -1;
        if (left == right) {
            if (dcas(&left_hat, &right_hat, left, right, dummy, dummy)) return LOAD(left->value);
        } else {
            struct node *next = LOAD(left->right);
            if (dcas(&left_hat, &left->right, left, next, next, left)) {
                int value = LOAD(left->value);
                STORE(left->left, dummy);
                FENCE();
                return value;
            }
        }
    }
}

#ifdef FOUR  // operations, as the papers have them: the other two are the mirror images of these
static void push_left(int value) {
    struct node *node = malloc(sizeof *node);
    STORE(node->left, dummy);
    STORE(node->value, value);
    FENCE();
    for (;;) {
        struct node *left = LOAD(left_hat), *beyond = LOAD(left->left);
        if (beyond == left) {
            STORE(node->right, dummy);
            FENCE();
            struct node *right = LOAD(right_hat);
            if (dcas(&left_hat, &right_hat, left, right, node, node)) return;
        } else {
            STORE(node->right, left);
            FENCE();
            if (dcas(&left_hat, &left->left, left, beyond, node, node)) return;
        }
    }
}

static int pop_right(void) {
    for (;;) {
        struct node *right = LOAD(right_hat), *left = LOAD(left_hat);
        if (LOAD(right->right) == right) return -1;
        if (left == right) {
            if (dcas(&right_hat, &left_hat, right, left, dummy, dummy)) return LOAD(right->value);
        } else {
            struct node *next = LOAD(right->left);
            if (dcas(&right_hat, &right->left, right, next, next, right)) {
                int value = LOAD(right->value);
                STORE(right->right, dummy);
                FENCE();
                return value;
            }
        }
    }
}
#endif

static void *pusher(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        push_right(1);
#ifdef FOUR
        push_left(2);
#endif
    }
    return 0;
}

static void *popper(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        int value = pop_left();
        assert(value == -1 || value == 1 || value == 2);
#ifdef FOUR
        value = pop_right();
        assert(value == -1 || value == 1 || value == 2);
#endif
    }
    return 0;
}

int main(void) {
    dummy = malloc(sizeof *dummy);
    dummy->left = dummy->right = dummy;
    dummy->value = -1;
    left_hat = right_hat = dummy;
    run(2, (void *(*[])(void *)){pusher, popper});
}
