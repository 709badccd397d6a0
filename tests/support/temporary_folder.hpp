// SPDX-License-Identifier: Apache-2.0
#pragma once
// TemporaryFolder: an empty folder for one test, gone with its owner. Only its user may look
// inside.

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace holt::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto pattern = (std::filesystem::temp_directory_path() / "holt-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "cannot make " + pattern);
    }
    path_ = std::filesystem::canonical(pattern).string();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::string file(std::string const& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace holt::test
