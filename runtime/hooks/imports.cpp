#include "imports.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "accesses.hpp"
#include "exceptions.hpp"
#include "snapshots.hpp"

// Where every stub jumps to, its number in r11: all that may hold arguments is kept, also how many vector registers do
// (al), and the stack is as it was when the library's function begins, which so may return twice.
asm(R"(
  .text
  .globl teetotal_stub
  .type teetotal_stub, @function
teetotal_stub:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rax
  pushq %r10
  pushq %r9
  pushq %r8
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  subq $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movl %r11d, %edi
  leaq 128(%rsp), %rsi
  movq 8(%rbp), %rdx
  call teetotal_called
  movq %rax, %r11
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $128, %rsp
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %r8
  popq %r9
  popq %r10
  popq %rax
  popq %rbp
  jmp *%r11
  .size teetotal_stub, .-teetotal_stub
)");

extern "C" {
void teetotal_stub();
[[gnu::used]] void* teetotal_called(std::uint32_t stub, const std::uintptr_t* arguments, std::uintptr_t place) {
  return teetotal::runtime::imports.called(stub, arguments, place);
}
}

namespace teetotal::runtime {

Imports imports;

namespace {

constexpr std::size_t kStub = 24;
constexpr std::size_t kArguments = 6;  // in registers

// Those of the table whose effect is that of a hook under the same name are modelled.
Effect effect_of(std::string_view word) {
  if (word == "nothing" || word == "output" || word == "checker") return Effect::none;
  if (word == "modelled") return Effect::modelled;
  if (word.starts_with("replaced")) return Effect::replaced;
  if (word == "refused") return Effect::refused;
  if (word == "constant") return Effect::constant;
  if (word == "outside") return Effect::unknown;
  if (word == "state") return Effect::state;
  if (word.starts_with("arguments:") || word.starts_with("changes:") || word.starts_with("thrown:"))
    return Effect::arguments;
  if (word.starts_with("keeps:")) return Effect::keeps;
  throw std::runtime_error("the table of imports knows no class " + std::string(word));
}

// The object around an address: its pages, those of its code, and what the linker made read-only after relocation.
struct Object {
  std::uintptr_t wanted, begin = 0, end = 0, relro_begin = 0, relro_end = 0;
  bool code = false;  // whether the address is in code
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> constant;
};

Object object_around(std::uintptr_t address) {
  Object object{address};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        auto& found = *static_cast<Object*>(argument);
        bool here = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & header = info->dlpi_phdr[i];
          here = here || (header.p_type == PT_LOAD && found.wanted - info->dlpi_addr - header.p_vaddr < header.p_memsz);
        }
        if (!here) return 0;
        found.begin = ~std::uintptr_t{0};
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & header = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
          if (header.p_type == PT_GNU_RELRO) found.relro_begin = begin, found.relro_end = end;
          if (header.p_type != PT_LOAD) continue;
          found.begin = std::min(found.begin, begin);
          found.end = std::max(found.end, end);
          if ((header.p_flags & PF_W) == 0) found.constant.emplace_back(begin, end);
          if (found.wanted - begin < header.p_memsz) found.code = (header.p_flags & PF_X) != 0;
        }
        return 1;
      },
      &object);
  return object;
}

void protect(const Object& object, int how) {
  const std::uintptr_t begin = object.relro_begin / 4096 * 4096, end = object.relro_end / 4096 * 4096;
  if (begin < end) mprotect(reinterpret_cast<void*>(begin), end - begin, how);
}

// Whether other threads may see what an argument points to. A number that is no address of the program's points to
// nothing.
bool shared(Thread& self, std::uintptr_t argument, std::uintptr_t place) {
  const std::uint32_t owner = stack_owner(argument);  // it is not known how much is meant: all above it
  const std::size_t size = owner < kMaxThreads ? stack_top(owner) - argument : 1;
  return of_program(reinterpret_cast<const void*>(argument)) && !imports.read_only(argument) &&
         !hidden_from_call(self, argument, place, size);
}

}  // namespace

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return name;
  std::string result = text;
  std::free(text);
  return result;
}

void unseen_call(const std::string& what, std::uintptr_t place) {
  if (process.current == nullptr) return;
  if (!callers.empty()) place = callers.teller(place, __builtin_frame_address(0));
  remarks.unseen.insert({what, place});
  ++libraries.changes;
  ++process.current->asked.changes;
}

void unordered_call(Users& users, bool sets, const char* what, std::uintptr_t place) {
  if (process.current == nullptr || process.unwatched()) return;
  const std::uint64_t own = std::uint64_t{1} << process.current->number;
  (sets ? users.setting : users.asking) |= own;
  const std::uint64_t before = users.setting | (sets ? users.asking : 0);
  if ((before & ~own) != 0) unseen_call(std::string(what) + ", whose order with that of others is not explored", place);
}

void unordered_call(const char* what, std::uintptr_t place) {
  if (process.current == nullptr || process.unwatched()) return;
  unseen_call(std::string(what) + ", whose order with what others do is not explored", place);
}

void Imports::read(const std::string& table, const std::string& instrumented) {
  std::ifstream lines(table);
  if (!lines) throw std::runtime_error("there is no table of imports, " + table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string effect;
    if (!(words >> effect)) continue;
    if (effect.starts_with("variant:")) {
      for (std::string name; words >> name;) variants_.emplace(name, effect.substr(effect.find(':') + 1));
      continue;
    }
    Entry entry{effect_of(effect)};
    if (entry.effect == Effect::arguments || entry.effect == Effect::keeps)
      for (const char digit : effect.substr(effect.find(':') + 1)) entry.arguments |= 1U << (digit - '1');
    entry.changes = effect.starts_with("changes:");
    entry.thrown = effect.starts_with("thrown:");
    if (entry.effect == Effect::replaced && effect.find(':') != std::string::npos)
      entry.by = effect.substr(effect.find(':') + 1);
    for (std::string name; words >> name;) {
      if (name.back() == '*') {
        name.pop_back();
        prefixes_.emplace_back(name, entry);
      } else if (!table_.emplace(name, entry).second) {
        throw std::runtime_error("the table of imports has " + name + " twice");
      }
    }
  }
  for (const auto& [name, plain] : variants_)
    if (table_.contains(name) || !table_.contains(plain))
      throw std::runtime_error("the table of imports has no " + plain + ", of which " + name + " is a variant");
  instrumented_ = dlopen(instrumented.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (instrumented_ == nullptr) throw std::runtime_error(dlerror());
}

namespace {

// A constructor without parameters, or a destructor, has its object and nothing else: what lies where a second argument
// would be is anything.
bool has_its_object_alone(const std::string& name) {
  const auto ends = [&](const char* end) { return name.starts_with("_ZN") && name.ends_with(end); };
  return ends("C1Ev") || ends("C2Ev") || ends("D0Ev") || ends("D1Ev") || ends("D2Ev");
}

}  // namespace

Imports::Entry Imports::entry(const std::string& name) const {
  if (const auto found = table_.find(name); found != table_.end()) return found->second;
  for (auto [prefix, entry] : prefixes_) {
    if (!name.starts_with(prefix)) continue;
    if (has_its_object_alone(name)) entry.arguments &= 1U;
    return entry;
  }
  return {};
}

void* Imports::replacement(const std::string& name) const {
  if (void* ours = dlsym(RTLD_DEFAULT, ("teetotal_" + name).c_str())) return ours;
  void* ours = dlsym(instrumented_, name.c_str());
  Dl_info info{};
  link_map* map = nullptr;
  dlinfo(instrumented_, RTLD_DI_LINKMAP, static_cast<void*>(&map));
  const bool found = ours != nullptr && dladdr(ours, &info) != 0;
  return found && reinterpret_cast<std::uintptr_t>(info.dli_fbase) == map->l_addr ? ours : nullptr;
}

void* Imports::bound(const std::string& name, void* target) {
  if (const auto variant = variants_.find(name); variant != variants_.end()) {
    void* hook = dlsym(RTLD_DEFAULT, variant->second.c_str());  // as what names the plain function comes to it
    return bound(variant->second, of_executable(reinterpret_cast<std::uintptr_t>(hook)) ? hook : target);
  }
  const Entry entry = this->entry(name);
  switch (entry.effect) {
    case Effect::none:
    case Effect::constant:
      return target;
    case Effect::modelled:
      if (of_executable(reinterpret_cast<std::uintptr_t>(target))) return target;
      return stub({name, {Effect::refused}, target});
    case Effect::replaced:
      if (void* ours = replacement(entry.by.empty() ? name : entry.by)) return ours;
      return stub({name, {}, target});
    default:
      return stub({name, entry, target});
  }
}

void* Imports::stub(Stub what) {
  void*& known = made_[{what.name, what.target}];
  if (known != nullptr) return known;
  const auto number = static_cast<std::uint32_t>(stubs_.size());
  std::uint8_t code[kStub] = {0x41, 0xBB, 0, 0, 0, 0, 0xFF, 0x25, 4};  // mov $number, %r11d; jmp *4(%rip): behind it
  void (*common)() = teetotal_stub;
  std::memcpy(code + 2, &number, sizeof number);
  std::memcpy(code + 16, &common, sizeof common);
  std::memcpy(code_, code, sizeof code);
  known = code_;
  code_ += sizeof code;
  stubs_.push_back(std::move(what));
  return known;
}

std::string Imports::described(const Stub& stub) const {
  Dl_info info{};
  dladdr(stub.target, &info);
  const std::string_view path = info.dli_fname == nullptr ? "" : info.dli_fname;
  if (of_executable(reinterpret_cast<std::uintptr_t>(stub.target))) return demangled(stub.name);
  return demangled(stub.name) + " of " + std::string(path.substr(path.rfind('/') + 1));
}

bool Imports::gets_memory(const Stub& stub, const std::uintptr_t* arguments) const {
  for (std::size_t i = 0; i < kArguments; ++i)
    if ((stub.entry.arguments >> i & 1U) != 0 && of_program(reinterpret_cast<const void*>(arguments[i]))) return true;
  return false;
}

bool Imports::touches_shared(Thread& self, const Stub& stub, const std::uintptr_t* arguments,
                             std::uintptr_t place) const {
  bool others = false;
  const auto live = reinterpret_cast<std::uintptr_t>(arguments);  // below it nothing lies that anybody may use
  const bool counted = !stub.name.starts_with("_Z");              // the table does not count those of each member
  for (std::size_t i = 0; i < kArguments; ++i) {
    if ((stub.entry.arguments >> i & 1U) == 0 || !of_program(reinterpret_cast<const void*>(arguments[i]))) continue;
    if (i == 0 && stub.entry.thrown && is_thrown(arguments[i])) continue;
    if (i > 0 && !counted && stack_owner(arguments[i]) == self.number && arguments[i] < live) continue;  // by chance
    ++self.asked.changes;
    others = others || shared(self, arguments[i], place);
  }
  return others;
}

void Imports::leave_to_library(const void* object, const char* what, std::uintptr_t place) const {
  Thread* self = process.current;
  if (self != nullptr && !process.unwatched() && shared(*self, reinterpret_cast<std::uintptr_t>(object), place))
    unseen_call(what, place);
}

void* Imports::called(std::uint32_t number, const std::uintptr_t* arguments, std::uintptr_t place) {
  const Stub& stub = stubs_[number];
  Thread* self = process.current;
  if (self == nullptr) return stub.target;
  if (self->range.size != 0) settle(*self);
  switch (stub.entry.effect) {
    case Effect::refused:
      fail(*self, Failure::unsupported, demangled(stub.name), place);
    case Effect::state:
      if (process.unwatched()) return stub.target;
      break;
    case Effect::arguments:
      if (arguments[0] == input_ || arguments[1] == input_) break;  // what it reads comes from outside
      if (stub.entry.changes && !process.unwatched() && arguments[0] - streams_.begin < streams_.end - streams_.begin)
        break;
      if (!touches_shared(*self, stub, arguments, place) || process.unwatched()) return stub.target;
      break;
    case Effect::keeps:
      if (!gets_memory(stub, arguments)) return stub.target;
      break;
    default:
      break;
  }
  unseen_call(described(stub), place);
  // What it writes lies in memory at once, and it may have fences of its own. So that nothing is found that rests on a
  // store which overtakes the call, or is overtaken by it, older ones come first; nothing is proved in any case.
  fence_before_call(*self, place);
  return stub.target;
}

// Whether the nearest code beyond this executable is that of the instrumented library, which goes by the rules of its
// own.
bool Imports::called_by_ours(const void* frame) const {
  struct Frame {
    const Frame* caller;
    std::uintptr_t returns_to;
  };
  const auto* at = static_cast<const Frame*>(frame);
  for (int depth = 0; depth < 4; ++depth, at = at->caller)
    if (const std::uintptr_t place = at->returns_to;
        memory.in_object(place) || place - own_.begin < own_.end - own_.begin)
      return !memory.in_object(place);
  return false;
}

bool Imports::variable(std::uintptr_t address) {
  if (process.current == nullptr) return of_library(address);
  const auto inside = [&](const Range& range) { return address - range.begin < range.end - range.begin; };
  for (const Constant& constant : constants_)
    if (inside(constant.range) && std::memcmp(reinterpret_cast<const void*>(constant.range.begin),
                                              constant.value.data(), constant.value.size()) == 0)
      return true;
  std::string what;
  if (inside(own_) || std::ranges::any_of(fixed_, inside)) return true;
  if (of_library(address) || inside(streams_)) {
    if (called_by_ours(__builtin_frame_address(0))) return true;
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(address), &info);
    const std::string_view path = info.dli_fname == nullptr ? "" : info.dli_fname;
    what = (info.dli_sname == nullptr ? "a variable" : "the variable " + demangled(info.dli_sname)) + " of " +
           std::string(path.substr(path.rfind('/') + 1));
  }
  if (what.empty()) return false;
  if (!process.unwatched()) {
    unseen_call(what, callers.teller(0, __builtin_frame_address(0)));
  }
  return true;
}

void Imports::bind(const void* inside) {
  for (const auto& [name, entry] : table_) {
    void* symbol = entry.effect == Effect::constant ? dlsym(RTLD_DEFAULT, name.c_str()) : nullptr;
    Dl_info info{};
    void* found = nullptr;
    if (symbol == nullptr || dladdr1(symbol, &info, &found, RTLD_DL_SYMENT) == 0 || found == nullptr) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(symbol);
    const std::size_t size = static_cast<const ElfW(Sym)*>(found)->st_size;
    constants_.push_back({{begin, begin + size}, {static_cast<const char*>(symbol), size}});
  }
  for (const char* variable : {"_ZSt4cout", "environ"}) {  // of the C++ library, of the C library
    const Object library = object_around(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, variable)));
    if (streams_.end == 0) streams_ = {library.begin, library.end};
    for (const auto& [begin, end] : library.constant) fixed_.push_back({begin, end});
    fixed_.push_back({library.relro_begin, library.relro_end});
  }
  input_ = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "_ZSt3cin"));
  bind_object(inside);
  for (const auto& [begin, end] : object_around(reinterpret_cast<std::uintptr_t>(inside)).constant)
    read_only_.push_back({begin, end});
  link_map* map = nullptr;
  dlinfo(instrumented_, RTLD_DI_LINKMAP, static_cast<void*>(&map));
  const Object ours = object_around(reinterpret_cast<std::uintptr_t>(map->l_ld));
  own_ = {ours.begin, ours.end};
  bind_object(map->l_ld);
}

namespace {

// Whether the program may get to know how late it is: by a function that has to do with time, but for those that wait
// or sleep and those whose answer is a limit alone (deadlines.py), or in a library that is no system's. Who asks the
// kernel itself is named.
bool tells_time(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (name.starts_with("dl")) return true;
  if (!has("time") && !has("clock") && !has("rusage")) return false;
  const bool waits = name.starts_with("pthread_") || name.starts_with("sem_") || name.starts_with("mtx_") ||
                     name.starts_with("cnd_") || name == "clock_nanosleep" || name.ends_with("_for_limit");
  return !waits && !has("runtime_error");
}
bool of_system(std::string_view library) {
  constexpr std::array kKnown{"libc.so",       "libm.so",      "libstdc++.so", "libgcc_s.so",
                              "libpthread.so", "libatomic.so", "ld-linux"};
  return std::ranges::any_of(kKnown, [&](std::string_view one) { return library.starts_with(one); });
}

}  // namespace

void Imports::bind_object(const void* inside) {
  Dl_info info{};
  void* found = nullptr;
  if (dladdr1(inside, &info, &found, RTLD_DL_LINKMAP) == 0 || found == nullptr)
    throw std::runtime_error("cannot find the program's imports");
  const auto* map = static_cast<const link_map*>(found);
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * tables[2] = {};
  std::size_t sizes[2] = {};
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_RELA) tables[0] = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_RELASZ) sizes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_JMPREL) tables[1] = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_PLTRELSZ) sizes[1] = entry->d_un.d_val;
  }
  for (const ElfW(Dyn)* entry = map->l_ld; own_.end == 0 && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED && !of_system(names + entry->d_un.d_val)) program.reads_clock = true;
  const Object object = object_around(reinterpret_cast<std::uintptr_t>(map->l_ld));
  const std::size_t room = ((sizes[0] + sizes[1]) / sizeof(ElfW(Rela)) * kStub / 4096 + 1) * 4096;
  void* pages = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::runtime_error("no memory for the stubs of imports");
  code_ = static_cast<std::uint8_t*>(pages);
  protect(object, PROT_READ | PROT_WRITE);
  for (int which = 0; which < 2; ++which) {
    for (std::size_t i = 0; i < sizes[which] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela) & relocation = tables[which][i];
      const auto type = ELF64_R_TYPE(relocation.r_info);
      const bool address = type == R_X86_64_64 && relocation.r_addend == 0;
      const ElfW(Sym) & symbol = symbols[ELF64_R_SYM(relocation.r_info)];
      const bool thread_local_one = type == R_X86_64_DTPMOD64 || type == R_X86_64_TPOFF64 || type == R_X86_64_TLSDESC;
      if (thread_local_one && symbol.st_name != 0 && symbol.st_shndx == SHN_UNDEF)
        Snapshots::interval = 0;  // they lack it
      if (std::strcmp(names + symbol.st_name, "teetotal_access") == 0) program.tells_registers = true;
      if (own_.end == 0 && tells_time(names + symbol.st_name)) program.reads_clock = true;
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && !address) continue;
      auto* slot = reinterpret_cast<void**>(map->l_addr + relocation.r_offset);
      const auto target = reinterpret_cast<std::uintptr_t>(*slot);
      if (target - object.begin < object.end - object.begin || !object_around(target).code) continue;
      *slot = bound(names + symbol.st_name, *slot);
    }
  }
  protect(object, PROT_READ);
  mprotect(pages, room, PROT_READ | PROT_EXEC);
}

}  // namespace teetotal::runtime
