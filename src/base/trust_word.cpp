// SPDX-License-Identifier: Apache-2.0
#include "base/trust_word.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

namespace holt {
namespace {

using Word = std::atomic<std::int64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);

constexpr std::size_t words_per_block = 8192;  // 64 KiB, touched page by page as they are used

/// Hands out words from blocks of wiped pages. The list of free words is ordinary memory: kept in
/// the words themselves it would be wiped too, and a child may open a store of its own.
/// A fork takes the mutex, so that a child never inherits it locked.
class Slab {
 public:
  /// Never destroyed: a guard in static storage may outlive every static of ours.
  static Slab& instance() {
    static auto* const slab = new Slab;
    return *slab;
  }

  Word* take() {
    std::lock_guard const guard(mutex_);
    if (free_.empty()) add_block();
    auto* const word = free_.back();
    free_.pop_back();
    return word;
  }

  void give_back(Word* word) noexcept {
    word->store(0, std::memory_order_release);
    std::lock_guard const guard(mutex_);
    free_.push_back(word);  // has room: add_block reserved for every word there is
  }

 private:
  Slab() {
    auto const failed =
        pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                       [] { instance().after_fork_in_child(); });
    if (failed != 0) throw std::bad_alloc();
  }

  void add_block() {
    free_.reserve((blocks_.size() + 1) * words_per_block);
    blocks_.reserve(blocks_.size() + 1);
    auto* const memory = mmap(nullptr, words_per_block * sizeof(Word), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    bool const wiped = madvise(memory, words_per_block * sizeof(Word), MADV_WIPEONFORK) == 0;
    auto* const words = static_cast<Word*>(memory);  // zero bytes are atomics that hold 0
    blocks_.push_back({words, wiped});
    for (auto i = words_per_block; i > 0; --i) free_.push_back(words + i - 1);
  }

  /// Wipes what the kernel could not be asked to wipe (before Linux 4.14, or where something else
  /// plays the kernel).
  void after_fork_in_child() noexcept {
    for (auto const& block : blocks_) {
      if (block.wiped_by_kernel) continue;
      for (std::size_t i = 0; i < words_per_block; ++i) {
        block.words[i].store(0, std::memory_order_relaxed);
      }
    }
    mutex_.unlock();
  }

  struct Block {
    Word* words;
    bool wiped_by_kernel;
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::vector<Word*> free_;
};

}  // namespace

TrustWord::TrustWord() : word_(Slab::instance().take()) {}

TrustWord::~TrustWord() { Slab::instance().give_back(word_); }

}  // namespace holt
