// SPDX-License-Identifier: Apache-2.0
#include "support/fence_register.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace holt::test {
namespace {

std::system_error failed(std::string const& what) {
  return {errno, std::generic_category(), "fence register: " + what};
}

}  // namespace

FenceRegister::Cells* FenceRegister::mapped(int file) {
  int const kind = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = ::mmap(nullptr, sizeof(Cells), PROT_READ | PROT_WRITE, kind, file, 0);
  if (memory == MAP_FAILED) throw failed("no shared memory");
  return static_cast<Cells*>(memory);  // all zero, which is what an unused register holds
}

void FenceRegister::unmap(Cells* cells) { ::munmap(cells, sizeof(Cells)); }

FenceRegister::FenceRegister() : cells_(mapped(-1), unmap) {}

FenceRegister::FenceRegister(std::string const& file) : cells_(nullptr, unmap) {
  int const opened = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (opened < 0 || ::ftruncate(opened, sizeof(Cells)) != 0) throw failed(file);
  cells_.reset(mapped(opened));
  ::close(opened);
}

bool FenceRegister::write(Fence fence) {
  auto seen = cells_->highest.load();
  while (fence.value() >= seen) {
    if (cells_->highest.compare_exchange_weak(seen, fence.value())) {
      ++cells_->accepted;
      return true;
    }
  }
  ++cells_->refused;
  return false;
}

}  // namespace holt::test
