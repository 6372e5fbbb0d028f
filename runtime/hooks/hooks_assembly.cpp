// What the build puts before instructions that the compiler gave no hook: inline assembly, builtins, structs by value,
// functions that are not instrumented. See programs/c/instrument.py, which writes the descriptors.
//
// A locked instruction is an rmw, a fence is a fence, and a load or store of one location is one, as for the compiler's
// own hooks. Any other is announced, as the compiler announces copies (hooks_copies.cpp): what it reads is loaded now;
// it then runs; and what it has written is stored by a second hook behind it. So an instruction that reads and writes
// memory is a load and a store, with others between.
#include <cpuid.h>

#include "accesses.hpp"
#include "addresses.hpp"
#include "unwritten.hpp"

namespace teetotal::runtime {
namespace {

enum class Does : std::uint8_t {
  load,
  store,
  update,
  locked,
  compared,
  mfence,
  sfence,
  copy,
  settle,
  order,
  hash,
  mask,
  look,   // at what may be unwritten: unwritten.hpp
  fresh,  // what lies above the stack pointer, up to where it was before: its old value lies below it
  equal
};
enum : std::uint8_t { kWhole = 1, kRepeated = 2, kSymbolic = 4, kThreadLocal = 8, kHalf = 16, kCalls = 32 };
enum : std::uint8_t { rax, rcx, rdx, rsp = 4, rbp = 5, rsi = 6, rdi = 7, flags = 16 };

struct Descriptor {
  Does does;
  std::uint8_t how;
  std::int8_t base, index;  // registers; negative: none
  std::uint8_t scale;
  std::int8_t bit;       // a register that counts bits from here
  std::uint16_t halves;  // compared with edx:eax; from `order` on: two registers and 1, the second in the upper half
  std::uint32_t size;
  std::int32_t symbol;  // counted from here
  std::int64_t displacement;
};
static_assert(sizeof(Descriptor) == 24);

using Registers = const std::uint64_t*;  // in the order of their numbers, then the flags

[[gnu::target("general-regs-only")]] std::uintptr_t address_of(const Descriptor& told, Registers registers) {
  auto address = static_cast<std::uintptr_t>(told.displacement);
  if ((told.how & kSymbolic) != 0)
    address += reinterpret_cast<std::uintptr_t>(&told.symbol) + static_cast<std::uintptr_t>(std::intptr_t{told.symbol});
  if (told.base >= 0) address += registers[told.base];
  if (told.index >= 0) address += registers[told.index] * told.scale;
  if (told.bit >= 0) {  // as the processor counts: in whole operands, and back if it is negative
    const int bits = static_cast<int>(told.size) * 8;
    auto count = static_cast<std::int64_t>(registers[told.bit]);
    if (bits < 64) count = static_cast<std::int64_t>(static_cast<std::uint64_t>(count) << (64 - bits)) >> (64 - bits);
    address += static_cast<std::uintptr_t>((count >> __builtin_ctz(static_cast<unsigned>(bits))) *
                                           static_cast<std::int64_t>(told.size));
  }
  return address;
}

// Whether it lies below the frame of the function that accesses it, on the stack of its own thread. Nothing of a frame
// does where the function calls others, but what assembly has there by its stack pointer.
[[gnu::target("general-regs-only")]] bool is_below(const Descriptor& told, Registers registers, const Thread& self,
                                                   std::uintptr_t address) {
  const std::uintptr_t bottom = kStacks + self.number * kStackStride, here = registers[rsp] - bottom;
  return (told.how & kCalls) != 0 && here < kStackStride && address - bottom < here && told.base != rsp &&
         told.base != rbp;
}

Wide expected_by(const Descriptor& told, Registers registers) {
  switch (told.size) {
    case 16:
      return static_cast<Wide>(registers[rdx]) << 64 | registers[rax];
    case 8:
      if (told.halves != 0) return registers[rdx] << 32 | (registers[rax] & 0xFFFFFFFF);
      return registers[rax];
    default:
      return registers[rax] & ((std::uint64_t{1} << 8 * told.size) - 1);
  }
}

// From `order` on: what the instruction is about. A second one that is neither a register nor in memory is a constant.
struct Values {
  std::uint64_t first = 0, second = 0;
};
[[gnu::target("general-regs-only")]] Values values_of(const Descriptor& told, Registers registers) {
  Values values;
  const unsigned first = told.halves & 255U, second = told.halves >> 8U;
  if (first != 0) values.first = registers[first - 1];
  values.second = second != 0      ? registers[second - 1]
                  : told.size != 0 ? *reinterpret_cast<const std::uint64_t*>(address_of(told, registers))
                                   : static_cast<std::uint64_t>(told.displacement);
  return values;
}

// Whether an instruction is about to load nothing but what fresh memory is filled with.
[[gnu::target("general-regs-only")]] bool sees_fill(const Descriptor& told, Registers registers) {
  if ((told.how & kHalf) != 0 && unwritten.bit_fields) return false;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(address_of(told, registers));
  for (std::uint32_t i = 0; i < told.size; ++i)
    if (bytes[i] != unwritten.fill) return false;
  return true;
}

[[gnu::target("general-regs-only")]] void fill_fresh(Registers registers) {
  const std::uint64_t now = registers[rsp], before = reinterpret_cast<const std::uint64_t*>(now)[-1];
  for (std::uint64_t at = now; at < before; ++at) *reinterpret_cast<volatile std::uint8_t*>(at) = unwritten.fill;
}

void locked(Thread& self, const Descriptor& told, Registers registers, std::uintptr_t address, std::uintptr_t place) {
  if (hidden(self, address, place, told.size)) return mfence(self, place);  // as it is for the others
  const bool compares = told.does == Does::compared;
  remarks.assembly = true;
  operate(self, Kind::rmw, compares ? swap_writes() : Writes::always, address, tag_for(told.size), place,
          compares ? expected_by(told, registers) : 0, false, false, false, unchecked(Order::seq_cst));
}

}  // namespace
}  // namespace teetotal::runtime

using namespace teetotal;           // NOLINT: what the thunk below calls
using namespace teetotal::runtime;  // NOLINT

extern "C" {

// Which kinds of vector registers there are to save, as the processor numbers them; 0: it saves all that it has at
// once.
std::uint32_t teetotal_vectors = [] {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return 0U;
  asm("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return a & 0xE7;
}();

// Whether anybody could care: without vector registers, which are saved after that.
[[gnu::target("general-regs-only"), gnu::used]] bool teetotal_access_matters(const Descriptor* told,
                                                                             Registers registers) {
  const Thread* self = process.current;
  if (self == nullptr) return false;
  if (told->does == Does::settle) return self->range.size != 0;
  if (told->does == Does::look) return sees_fill(*told, registers);
  if (told->does == Does::fresh) {
    fill_fresh(registers);
    return false;
  }
  if (told->does >= Does::order) {
    const auto [first, second] = values_of(*told, registers);
    if (told->does == Does::equal)
      return first != second && in_heap(first) && in_heap(second) &&
             !(Memory::in_use(first, 1) && Memory::in_use(second, 1));
    const bool either = may_be_address(first) || may_be_address(second);
    return told->does == Does::order ? may_be_address(first) && may_be_address(second) : either;
  }
  if (told->does > Does::update || (told->how & (kRepeated | kThreadLocal)) != 0 || lifetimes.shared_stacks != 0 ||
      !lifetimes.touched.empty())
    return true;
  const std::uintptr_t bottom = kStacks + self->number * kStackStride;
  const std::uintptr_t address = address_of(*told, registers);
  return address - bottom >= kStackStride || is_below(*told, registers, *self, address);
}

// One access: of one piece, or of many, which are not repeated one by one.
struct Reach {
  std::uintptr_t to, from;  // 0: it writes nothing, it reads nothing
  std::size_t size;
  bool simple, whole;
};

static void tell(Thread& self, const Descriptor& told, const Reach& reach, std::uintptr_t place) {
  const auto& [to, from, size, simple, whole] = reach;
  if (simple && (told.does == Does::load || told.does == Does::store)) {
    const bool writes = told.does == Does::store;
    const std::uintptr_t address = writes ? to : from;
    if (address == 0) return;  // a constant
    if (process.unwatched() || hidden(self, address, place, size)) return check_memory(self, address, size, place);
    if (whole || size_of(cells.piece(address, address + size).tag) == size) {
      return operate(self, writes ? Kind::st : Kind::ld, writes ? Writes::always : Writes::never, address,
                     tag_for(size), place, 0, !whole);
    }
  }
  announce(self, to, from, size, place, whole ? Announced::whole : Announced::parts);
}

[[gnu::used]] void teetotal_access_told(const Descriptor* told, Registers registers, std::uintptr_t place) {
  Thread& self = *process.current;
  if (told->does == Does::mfence) return mfence(self, place);
  if (told->does == Does::sfence) return sfence(self, place);
  if (told->does == Does::settle) return settle(self);
  if (told->does == Does::look) return weigh_unwritten(address_of(*told, registers), place);
  if (told->does >= Does::order) {
    const auto [first, second] = values_of(*told, registers);
    if (told->does == Does::order) return addresses.compared(first, second, place);
    if (told->does == Does::equal) {
      addresses.differs(first, second, place);
      return addresses.differs(second, first, place);
    }
    if (told->does == Does::mask) {
      addresses.masked(first, second, place);
      return addresses.masked(second, first, place);
    }
    addresses.hashed(first, place);
    return addresses.hashed(second, place);
  }
  std::uintptr_t address = address_of(*told, registers);
  if ((told->how & kThreadLocal) != 0) address += current_thread_pointer();
  if (is_below(*told, registers, self, address)) use_after_return(self, address, place);
  if (told->does == Does::locked || told->does == Does::compared) return locked(self, *told, registers, address, place);
  std::size_t size = told->size;
  std::uintptr_t from = registers[rsi];
  if ((told->how & kRepeated) != 0) {
    const std::uint64_t count = registers[rcx];
    if (count == 0) return;
    constexpr std::uint64_t kDown = 1U << 10;
    if ((registers[flags] & kDown) != 0) {
      address -= size * (count - 1);
      from -= size * (count - 1);
    }
    if (__builtin_mul_overflow(size, count, &size)) return;  // it will not come back from there
  }
  if (told->does != Does::copy) from = told->does == Does::store ? 0 : address;
  const std::uintptr_t to = told->does == Does::load ? 0 : address;
  if (from != 0 && memory.is_constant(from)) from = 0;
  const bool simple = size == told->size && size <= 16 && (size & (size - 1)) == 0;  // repeated, it is one by one
  const bool whole = (told->how & kWhole) != 0 && simple && address % size == 0;
  if (self.suspicion.address != 0) decide_suspicion(self, to, place);
  tell(self, *told, {.to = to, .from = from, .size = size, .simple = simple, .whole = whole}, place);
  // A frame's own variables are looked at where they may be unwritten: programs/c/unwritten.py.
  if (simple && from != 0 && told->base != rbp && told->base != rsp)
    look_for_unwritten(self, reinterpret_cast<const void*>(from), tag_for(size), place);
}
}

// The caller's stack pointer is 128 bytes and its rdi above the return address. rbp makes a frame, as debuggers like
// it.
asm(R"(
.text
.globl teetotal_settle
.type teetotal_settle, @function
teetotal_settle:
  jmp teetotal_access
.size teetotal_settle, .-teetotal_settle
.globl teetotal_look
.type teetotal_look, @function
teetotal_look:
  jmp teetotal_access
.size teetotal_look, .-teetotal_look
.globl teetotal_access
.type teetotal_access, @function
teetotal_access:
  pushq %rbp
  movq %rsp, %rbp
  pushfq
  pushq %r15
  pushq %r14
  pushq %r13
  pushq %r12
  pushq %r11
  pushq %r10
  pushq %r9
  pushq %r8
  pushq 16(%rbp)
  pushq %rsi
  pushq (%rbp)
  pushq %rbp
  addq $152, (%rsp)
  pushq %rbx
  pushq %rdx
  pushq %rcx
  pushq %rax
  cld
  movq %rsp, %rbx
  movq %rdi, %r12
  movq %rsp, %rsi
  andq $-64, %rsp
  call teetotal_access_matters
  testb %al, %al
  je 3f
  subq $2816, %rsp
  cmpl $0, teetotal_vectors(%rip)
  je 1f
  xorl %eax, %eax
  movq %rax, 512(%rsp)
  movq %rax, 520(%rsp)
  movq %rax, 528(%rsp)
  movq %rax, 536(%rsp)
  movq %rax, 544(%rsp)
  movq %rax, 552(%rsp)
  movq %rax, 560(%rsp)
  movq %rax, 568(%rsp)
  movl teetotal_vectors(%rip), %eax
  xorl %edx, %edx
  xsave64 (%rsp)
  movq %rax, 512(%rsp)  # it also tells which it found in use: others hold the same either way
  jmp 2f
1:
  fxsave64 (%rsp)
2:
  movq %r12, %rdi
  movq %rbx, %rsi
  movq 8(%rbp), %rdx
  call teetotal_access_told
  cmpl $0, teetotal_vectors(%rip)
  je 1f
  movl teetotal_vectors(%rip), %eax
  xorl %edx, %edx
  xrstor64 (%rsp)
  jmp 3f
1:
  fxrstor64 (%rsp)
3:
  movq %rbx, %rsp
  popq %rax
  popq %rcx
  popq %rdx
  popq %rbx
  leaq 16(%rsp), %rsp
  popq %rsi
  popq %rdi
  popq %r8
  popq %r9
  popq %r10
  popq %r11
  popq %r12
  popq %r13
  popq %r14
  popq %r15
  popfq
  popq %rbp
  ret
.size teetotal_access, .-teetotal_access

# What controls arithmetic stays as it is: a call keeps it.
.globl teetotal_wipe_registers
.type teetotal_wipe_registers, @function
teetotal_wipe_registers:
  cmpl $0, teetotal_vectors(%rip)
  je 1f
  leaq teetotal_no_vectors(%rip), %rcx
  stmxcsr 24(%rcx)
  movl teetotal_vectors(%rip), %eax
  andl $~1, %eax
  xorl %edx, %edx
  xrstor64 (%rcx)
  jmp 2f
1:
  pxor %xmm0, %xmm0
  pxor %xmm1, %xmm1
  pxor %xmm2, %xmm2
  pxor %xmm3, %xmm3
  pxor %xmm4, %xmm4
  pxor %xmm5, %xmm5
  pxor %xmm6, %xmm6
  pxor %xmm7, %xmm7
  pxor %xmm8, %xmm8
  pxor %xmm9, %xmm9
  pxor %xmm10, %xmm10
  pxor %xmm11, %xmm11
  pxor %xmm12, %xmm12
  pxor %xmm13, %xmm13
  pxor %xmm14, %xmm14
  pxor %xmm15, %xmm15
2:
  xorl %eax, %eax
  xorl %ecx, %ecx
  xorl %edx, %edx
  xorl %esi, %esi
  xorl %edi, %edi
  xorl %r8d, %r8d
  xorl %r9d, %r9d
  xorl %r10d, %r10d
  xorl %r11d, %r11d
  ret
.size teetotal_wipe_registers, .-teetotal_wipe_registers
.bss
.balign 64
teetotal_no_vectors:
  .zero 576
.text
)");
