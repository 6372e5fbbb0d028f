/* Makes a file for `teetotal verify` run under SPIN, where memory is sequentially consistent and fences do nothing.
   teetotal knows these words itself and does not read this header. */
#define ghost
#define mfence skip
#define sfence skip
#define cas(r, x, o, n) atomic { if :: (x == (o)) -> x = (n); r = 1 :: else -> r = 0 fi }
#define xchg(r, x, v) d_step { teetotal_old = x; x = (v); r = teetotal_old; teetotal_old = 0 }
#define fetch_add(r, x, d) d_step { teetotal_old = x; x = x + (d); r = teetotal_old; teetotal_old = 0 }
#define lock(x) atomic { (x == 0) -> x = 1 }
#define unlock(x) x = 0
#define forbidden(name, condition) ltl name { [] !(condition) }
int teetotal_old;
