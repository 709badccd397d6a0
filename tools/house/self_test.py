# SPDX-License-Identifier: Apache-2.0
"""The tests of the rules: planted mistakes that must be found, good code that must pass."""

from house import cpp, layers

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
TOP = {".cpp": LICENCE, ".hpp": LICENCE + "#pragma once\n// What it is.\n"}

# (path, code, the rules that must speak, in order of lines)
LAYERS = [
    ("include/holt/lock.hpp", "#include <chrono>\n#include <holt/name.hpp>\n", []),
    ("include/holt/lock.hpp", "#include <boost/asio/awaitable.hpp>\n", ["layer"]),
    ("include/holt/lock.hpp", "#include <fmt/format.h>\n", ["layer"]),
    ("include/holt/asio.hpp", "#include <boost/asio/awaitable.hpp>\n", []),
    ("src/base/ids.cpp", '#include <xxhash.h>\n\n#include "base/ids.hpp"\n', []),
    ("src/base/ids.cpp", '#include "contracts/env.hpp"\n', ["layer"]),
    ("src/base/ids.cpp", "#include <unistd.h>\n", ["layer"]),
    ("src/base/trust_word.cpp", "#include <sys/mman.h>\n", []),
    ("src/base/trust_word.cpp", "#include <unistd.h>\n", ["layer"]),
    ("src/env/real_env.cpp", '#include <sys/timerfd.h>\n#include "contracts/env.hpp"\n', []),
    ("src/env/real_env.cpp", '#include "contracts/lease_store.hpp"\n', ["layer"]),
    ("src/primitives/lock.cpp", '#include "contracts/lease_store.hpp"\n', []),
    ("src/primitives/lock.cpp", '#include "engines/sqlite/engine.hpp"\n', ["layer"]),
    ("src/primitives/lock.cpp", '#include "env/real_env.hpp"\n', ["layer"]),
    ("src/engines/sqlite/engine.cpp", '#include <sqlite3.h>\n#include "sqlite_sql.hpp"\n', []),
    ("src/engines/sqlite/engine.cpp", '#include "engines/sqlite/connection.hpp"\n', []),
    ("src/engines/sqlite/engine.cpp", '#include "engines/redis/connection.hpp"\n', ["layer"]),
    ("src/engines/sqlite/engine.cpp", '#include "primitives/trust.hpp"\n', ["layer"]),
    ("src/engines/sqlite/gate.cpp", '#include "env/worker_thread.hpp"\n', []),
    ("src/engines/sqlite/gate.cpp", '#include "env/real_env.hpp"\n', ["layer"]),
    ("src/engines/registry.cpp", '#include "engines/sqlite/engine.hpp"\n', []),
    ("src/engines/registry.cpp", '#include "engines/sqlite/connection.hpp"\n', ["layer"]),
    ("src/client/open.cpp", '#include "engines/registry.hpp"\n#include "env/real_env.hpp"\n', []),
    ("src/client/open.cpp", "#include <sqlite3.h>\n", ["layer"]),
    ("src/cli/run.cpp", '#include "contracts/lease_store.hpp"\n', ["layer"]),
    ("src/cli/run.cpp", "#include <boost/json.hpp>\n#include <holt/lock.hpp>\n", []),
    ("src/elsewhere/x.cpp", "", ["layer"]),
    ("tests/unit/x_test.cpp", "#include <sqlite3.h>\n", []),
]

BANS = [
    ("src/primitives/a.cpp", "auto t = std::chrono::steady_clock::now();\n", ["clock"]),
    ("src/cli/a.cpp", "clock_gettime(CLOCK_BOOTTIME, &t);\n", ["clock"]),
    ("src/primitives/a.cpp", "auto t = BootClock::now();\n", ["clock"]),
    ("src/client/a.cpp", "auto t = BootClock::now();\n", []),
    ("src/env/a.cpp", "auto t = std::chrono::steady_clock::now();\n", []),
    ("tests/unit/a.cpp", "auto t = std::chrono::steady_clock::now();\n", []),
    ("src/client/a.cpp", "// never steady_clock::now()\nauto s = \"rand()\";\n", []),
    ("src/client/a.cpp", "std::random_device d;\n", ["random"]),
    ("src/client/a.cpp", "int x = rand();\n", ["random"]),
    ("src/client/a.cpp", "auto x = env.random();\n", []),
    ("src/client/a.cpp", "std::this_thread::sleep_for(1s);\n", ["sleep"]),
    ("src/client/a.cpp", "env.sleep_until(t);\nenv.sleep(t);\n", []),
    ("src/client/a.cpp", "std::jthread t(f);\n", ["thread"]),
    ("src/client/a.cpp", "std::thread::id owner;\n", []),
    ("src/cli/interrupt.cpp", "thread_ = std::thread(f);\n", []),
    ("src/client/a.cpp", "asio::steady_timer t(ex);\n", ["timer"]),
    ("src/primitives/a.cpp", "co_spawn(ex, f(), detached);\n", ["detached"]),
    ("src/primitives/nursery.cpp", "co_spawn(ex, f(), detached);\n", []),
    ("src/primitives/a.cpp", "std::mutex m;\n", ["mutex"]),
    ("src/primitives/keeper.cpp", "std::mutex m;\n", []),
    ("src/client/a.cpp", "std::mutex m;\n", []),
    ("src/base/a.cpp", "using namespace std;\n", ["using-namespace"]),
    ("src/base/a.cpp", "using namespace std::chrono_literals;\n", []),
    ("src/base/a.cpp", "assert(x);\nstatic_assert(y);\n", ["assert"]),
    ("src/base/a.cpp", "int x;  // NOLINT\n", ["nolint"]),
    ("src/base/a.cpp", "int x;  // NOLINT(bugprone-x)\n", ["nolint"]),
    ("src/base/a.cpp", "int x;  // NOLINT(bugprone-x): the C API wants it\n", []),
    ("src/base/a.cpp", "// TODO tidy up\n", ["todo"]),
    ("src/base/a.cpp", "// TODO(#12): shorter\n", []),
    ("src/engines/sqlite/a.cpp", 'auto s = "SELECT 1 FROM x";\n', ["sql"]),
    ("src/engines/sqlite/a.cpp", 'auto s = "BEGIN IMMEDIATE";\n', []),
    ("src/base/a.cpp", "// see /work/notes\n", ["path"]),
]

SHAPES = [
    ("src/base/a.cpp", "// " + "x" * 98 + "\n", ["columns"]),
    ("src/base/a.cpp", "int x;\n" * 500, ["file-size"]),
    ("src/base/a.cpp", "void f() {\n" + "g();\n" * 58 + "}\n", []),
    ("src/base/a.cpp", "void f() {\n" + "g();\n" * 59 + "}\n", ["function-size"]),
    ("src/base/a.cpp", "A::A(int b) : b_{b} {\n" + "g();\n" * 59 + "}\n", ["function-size"]),
    ("src/base/a.cpp", "int A::f() const {\n" + "g();\n" * 59 + "}\n", ["function-size"]),
    ("src/base/a.cpp", "namespace a {\n" + "int f() { return 1; }\n" * 70 + "}\n", []),
    ("src/base/a.hpp", "class A : B<int> {\n public:\n" + "int f();\n" * 70 + "};\n", []),
    ("src/base/a.hpp", "template <class T>\nstruct A final {\n" + "int f();\n" * 70 + "};\n", []),
    ("src/base/a.cpp", "constexpr int table[] = {\n" + "1,\n" * 70 + "};\n", []),
    ("src/base/string_util.cpp", "", ["file-name"]),
    ("src/base/a.sql", "", []),
]

GOOD_AWAITS = """
co_await f();
auto x = co_await f(1, {.ttl = 5s});
x = co_await f([](int y) { return y; });
co_return co_await f();
if (x) co_await f();
if (x) { co_await f(); } else { co_await g(); }
switch (x) { case 1: co_await f(); break; default: co_await g(); }
for (;;) { auto y = co_await f(); }
try { co_await f(); } catch (int e) { g(e); }
do { co_await f(); } while (x);
auto y = x ? 1 : 2; co_await f();
auto op = f([x] { return x; }); co_await std::move(op);
co_spawn(ex, [this]() -> awaitable<void> { co_await f(); }, token);
auto lambda = [&](int a) -> awaitable<int> { co_return co_await f(a); };
auto z = co_await (f() || g());
while (x < 3) { co_await f(a[1]); }
std::vector<int> v{1, 2}; co_await f(v);
Guard const g{a, b}; co_await f(std::move(g));
std::ignore = co_await f();
co_await initiate([](auto handler) { post([handler] { handler(); }); }, token);
"""

BAD_AWAITS = """
if (co_await f()) g();
if (auto x = co_await f(); x) g();
while (co_await f()) g();
switch (co_await f()) { default: break; }
for (auto x : co_await f()) g();
do { g(); } while (co_await f());
auto x = T{co_await f()};
T x{U(co_await f())};
g(co_await f());
EXPECT_TRUE(co_await f());
auto x = y ? co_await f() : 1;
auto x = co_await f() ? 1 : 2;
auto x = a && co_await f();
auto x = co_await f() + co_await g();
auto [a, b] = co_await f();
co_await f([s] { return s; });
co_await f(1, std::function<void()>([s, &t]() { use(s, t); }));
auto x = (co_await f()).value();
auto x = !co_await f();
return co_await f();
auto x = a[co_await f()];
"""


def _await_cases():
    for good in GOOD_AWAITS.strip().splitlines():
        yield "src/client/a.cpp", f"awaitable<void> f() {{\n{good}\n}}\n", []
    for bad in BAD_AWAITS.strip().splitlines():
        yield "src/client/a.cpp", f"awaitable<void> A::f(int x) {{\n  g();\n{bad}\n}}\n", ["await"]
    yield "src/client/a.cpp", "#define AWAIT(x) \\\n  co_await x\n", ["await"]


def _missing_tops():
    yield "src/base/a.cpp", "int x;\n", ["spdx"]
    yield "src/base/a.hpp", LICENCE + "// What.\nint x;\n", ["header"]
    yield "src/base/a.hpp", LICENCE + "#pragma once\nint x;\n", ["header"]
    yield "tools/a.py", "#!/usr/bin/env python3\nx = 1\n", ["spdx"]
    yield "src/engines/sqlite/sql/a.sql", "SELECT 1;\n", ["spdx"]
    yield "docs/a.md", "no licence line needed\n", []


def _single_users() -> list[str]:
    texts = {"src/cli/a.cpp": "#include <CLI/CLI.hpp>\n"}
    texts["src/cli/b.cpp"] = "#include <CLI/App.hpp>\n"
    return [rule for _, _, rule, _ in layers.check_single_users(texts)]


def run(check_text) -> int:
    cases = [
        (path, TOP.get(path[path.rfind(".") :], "-- " + LICENCE[3:]) + code, expected)
        for path, code, expected in [*LAYERS, *BANS, *SHAPES, *_await_cases()]
    ]
    failures = 0
    for path, text, expected in [*cases, *_missing_tops()]:
        found = [rule for _, rule, _ in check_text(path, text)]
        if found != expected:
            failures += 1
            print(f"FAILED {path}: expected {expected}, found {found} in:\n{text[:400]}")
    if _single_users() != ["single-user"] or cpp.Source("a\nb").line_of(2) != 2:
        failures += 1
        print("FAILED: single users or line numbers")
    print(f"tidy self-test: {len(cases)} planted cases, {failures} failures")
    return 1 if failures else 0
