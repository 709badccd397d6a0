// SPDX-License-Identifier: Apache-2.0
// Names: what is refused and in which words, and that spellings Unicode calls equal are one name.
#include <holt/name.hpp>

#include <holt/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace holt {
namespace {

using namespace std::string_literals;

std::string refusal(std::string_view text) {
  auto const parsed = Name::parse(text);
  return parsed ? "accepted: " + parsed->text() : parsed.error();
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(NameTest, PlainTextIsKeptAsItIs) {
  for (auto const* text : {"deploy", "a", "with space", " leading and trailing ", "x/y:z.1",
                           "größe", "日本語", "🔒", "नमस्ते"}) {
    auto const name = Name::parse(text);
    ASSERT_TRUE(name) << text << ": " << name.error();
    EXPECT_EQ(name->text(), text);
  }
}

// A name is data: nothing in it is a path, a pattern, an option or SQL.
TEST(NameTest, TextWithMeaningElsewhereIsJustText) {
  for (auto const* text : {"../../etc/passwd",
                           "/etc/passwd",
                           "*",
                           "?",
                           "[a-z]",
                           "'; DROP TABLE x;--",
                           "\"",
                           "--help",
                           "-n",
                           "NUL",
                           "CON",
                           "COM1",
                           "%s%n",
                           "${HOME}",
                           "a\\b",
                           "holt:default:x",
                           "fence:x",
                           "id:x",
                           "{01}",
                           "%00",
                           "~root",
                           "."}) {
    auto const name = Name::parse(text);
    ASSERT_TRUE(name) << text << ": " << name.error();
    EXPECT_EQ(name->text(), text);
  }
}

TEST(NameTest, EmptyIsRefused) {
  EXPECT_EQ(refusal(""), "the name is empty; give 1 to 512 bytes of text");
}

TEST(NameTest, BlankIsRefused) {
  auto const* const words = "the name is blank; give at least one character that can be seen";
  for (auto const* text : {" ", "    ", "\u00A0", " \u2003 ", "\u3000", "\u1680", "\u202F",
                           "\u205F", "\u200B", "\uFEFF", "\u2060", "\u200D"}) {
    EXPECT_EQ(refusal(text), words);
  }
  EXPECT_TRUE(Name::parse(" x "));
}

TEST(NameTest, LimitIs512BytesOfAscii) {
  EXPECT_TRUE(Name::parse(std::string(512, 'a')));
  EXPECT_EQ(refusal(std::string(513, 'a')), "the name is 513 bytes long; give at most 512");
  EXPECT_EQ(refusal(std::string(1 << 20, 'a')), "the name is 1048576 bytes long; give at most 512");
}

TEST(NameTest, LimitCountsBytesNotCharacters) {
  EXPECT_TRUE(Name::parse(repeat("é", 256)));
  EXPECT_FALSE(Name::parse(repeat("é", 256) + "a"));
  EXPECT_TRUE(Name::parse(repeat("🔒", 128)));
  EXPECT_EQ(refusal(repeat("🔒", 128) + "a"),
            "the name is 513 bytes long in Unicode normal form C; give at most 512");
}

TEST(NameTest, LimitCountsAfterNormalisation) {
  auto const decomposed = repeat("e\u0301", 256);  // 768 bytes, 512 when composed
  auto const name = Name::parse(decomposed);
  ASSERT_TRUE(name) << name.error();
  EXPECT_EQ(name->text().size(), 512U);
  EXPECT_FALSE(Name::parse(decomposed + "a"));
  EXPECT_TRUE(Name::parse(repeat("\u1100\u1161\u11A8", 170)));   // Hangul: 1530 bytes to 510
  EXPECT_FALSE(Name::parse(repeat("\u1100\u1161\u11A8", 171)));  // 513
}

// U+1D15E is 4 bytes, and 8 in NFC: it may not be composed.
TEST(NameTest, NormalisationThatGrowsCountsToo) {
  EXPECT_TRUE(Name::parse(repeat("\U0001D15E", 64)));
  EXPECT_FALSE(Name::parse(repeat("\U0001D15E", 65)));
}

TEST(NameTest, SpellingsThatUnicodeCallsEqualAreOneName) {
  EXPECT_EQ(Name("caf\u00E9"), Name("cafe\u0301"));
  EXPECT_EQ(Name("\u212B"), Name("\u00C5"));  // Angstrom sign, A with ring
  EXPECT_EQ(Name("A\u030A"), Name("\u00C5"));
  EXPECT_EQ(Name("\uAC01"), Name("\u1100\u1161\u11A8"));
  EXPECT_EQ(Name("q\u0307\u0323"), Name("q\u0323\u0307"));  // marks in canonical order
  EXPECT_EQ(Name("\u1E0A\u0323"), Name("\u1E0C\u0307"));
  EXPECT_EQ(Name("cafe\u0301").text(), "caf\u00E9");
}

// utf8proc 2.8 drops this one when it composes.
TEST(NameTest, JamoThatLooksLikeNoFinalConsonantStays) {
  EXPECT_EQ(Name("\u1108\u1169\u11A7").text(), "\uBF40\u11A7");
  EXPECT_EQ(Name("\u11A7e\u0301\u11A7").text(), "\u11A7\u00E9\u11A7");
  EXPECT_NE(Name("\uAC00\u11A7"), Name("\uAC00"));
}

// NFC, not NFKC: compatibility forms and look-alikes of other scripts stay apart.
TEST(NameTest, LookAlikesStayApart) {
  EXPECT_NE(Name("\uFB01le"), Name("file"));
  EXPECT_NE(Name("\uFF41"), Name("a"));
  EXPECT_NE(Name("\u0430"), Name("a"));
  EXPECT_NE(Name("Deploy"), Name("deploy"));
  EXPECT_NE(Name("a "), Name("a"));
}

TEST(NameTest, NormalisingTwiceChangesNothing) {
  for (auto const* text :
       {"e\u0301", "\u212B", "\u0958", "\u1100\u1161", "\U0001D15E", "a\u0300\u0315"}) {
    Name const once(text);
    EXPECT_EQ(Name(once.text()), once);
  }
}

TEST(NameTest, ControlCharactersAreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal("ab\nc"),
            "the name has the control character U+000A at byte offset 2; leave it out");
  EXPECT_EQ(refusal("a\0b"s),
            "the name has the control character U+0000 at byte offset 1; leave it out");
  EXPECT_EQ(refusal("é\u0085"),
            "the name has the control character U+0085 at byte offset 2; leave it out");
  for (auto const* text :
       {"\r\n", "\t", "x\x1B[31m", "\x7F", "\x01", "\x1F", "\u0080", "\u009F", "a\u2028b",
        "a\u2029b", "a\u202Eb", "a\u202Ab", "a\u2066b", "a\u2069b"}) {
    EXPECT_TRUE(refusal(text).starts_with("the name has the control character")) << refusal(text);
  }
}

TEST(NameTest, FormatCharactersThatScriptsNeedAreAllowed) {
  EXPECT_TRUE(Name::parse("می\u200Cخواهم"));
  EXPECT_TRUE(Name::parse("👩\u200D🚀"));
  EXPECT_TRUE(Name::parse("a\u200Eb"));
}

TEST(NameTest, BytesThatAreNotUtf8AreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal("abc\xFF"),
            "the name is not valid UTF-8: a byte that never occurs in UTF-8 (0xFF) at byte offset "
            "3; encode it as UTF-8");
  struct Case {
    std::string text;
    std::string_view why;
  };
  for (auto const& [text, why] : {
           Case{"\x80", "continuation byte"},
           Case{"a\xBFz", "continuation byte"},
           Case{"\xC3", "cut short"},
           Case{"\xC3(", "cut short"},
           Case{"\xE2\x82", "cut short"},
           Case{"\xE2\x82z", "cut short"},
           Case{"\xF0\x9F\x94", "cut short"},
           Case{"\xC0\xAF", "overlong"},
           Case{"\xC1\xBF", "overlong"},
           Case{"\xC0\x80", "overlong"},
           Case{"\xE0\x80\xAF", "overlong"},
           Case{"\xE0\x9F\xBF", "overlong"},
           Case{"\xF0\x80\x80\xAF", "overlong"},
           Case{"\xF0\x8F\xBF\xBF", "overlong"},
           Case{"\xED\xA0\x80", "surrogate"},
           Case{"\xED\xBF\xBF", "surrogate"},
           Case{"\xF4\x90\x80\x80", "above U+10FFFF"},
           Case{"\xF5\x80\x80\x80", "never occurs"},
           Case{"\xFE", "never occurs"},
           Case{"caf\xE9 noir", "cut short"},  // Latin-1
           Case{"\xFF\xFE"
                "a\0"s,
                "never occurs"},  // UTF-16
       }) {
    auto const words = refusal(text);
    EXPECT_TRUE(words.starts_with("the name is not valid UTF-8: ")) << words;
    EXPECT_NE(words.find(why), std::string::npos) << words;
  }
}

TEST(NameTest, EdgesOfUtf8AreAccepted) {
  for (auto const* text :
       {"\u00A1", "\u07FF", "\u0800", "\uD7FF", "\uE000", "\uFFFD", "\U00010000", "\U0010FFFF"}) {
    EXPECT_TRUE(Name::parse(text)) << refusal(text);
  }
}

TEST(NameTest, ErrorsNeverRepeatTheInput) {
  auto const words = refusal("secret\x01secret");
  EXPECT_EQ(words.find("secret"), std::string::npos);
}

TEST(NameTest, ConstructorThrowsTheSameSentence) {
  try {
    Name const name("a\nb");
    FAIL() << name.text();
  } catch (InvalidArgument const& error) {
    EXPECT_EQ(error.what(), refusal("a\nb"));
  }
  EXPECT_THROW(Name(""), InvalidArgument);
  EXPECT_THROW(Name(std::string("\xFF")), InvalidArgument);
}

TEST(NameTest, HashIs24HexDigitsAndFollowsTheNormalForm) {
  EXPECT_EQ(Name("caf\u00E9").hash(), Name("cafe\u0301").hash());
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    auto const hash = Name("name-" + std::to_string(i)).hash();
    ASSERT_EQ(hash.size(), 24U);
    ASSERT_TRUE(std::ranges::all_of(
        hash, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }));
    seen.insert(hash);
  }
  EXPECT_EQ(seen.size(), 1000U);
}

// Logs of different versions must agree: the hash of a name never changes.
TEST(NameTest, HashIsPinned) { EXPECT_EQ(Name("deploy").hash(), "cbbe04451ef43b05eeddb150"); }

TEST(InstanceTest, GoodOnesAreKept) {
  for (auto const& text : {"a"s, "default"s, "team-1"s, "a1-b2"s, "x--y"s, std::string(63, 'a')}) {
    auto const parsed = parse_instance(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error();
    EXPECT_EQ(*parsed, text);
  }
}

TEST(InstanceTest, OthersAreRefusedWithWhatIsWrong) {
  struct Case {
    std::string text;
    std::string_view why;
  };
  for (auto const& [text, why] : {
           Case{"", "the instance is empty"},
           Case{std::string(64, 'a'), "the instance is 64 characters long"},
           Case{"1a", "the instance does not start with a letter"},
           Case{"-a", "the instance does not start with a letter"},
           Case{"a-", "the instance ends with '-'"},
           Case{"Team", "the instance has 'T' at byte offset 0"},
           Case{"a_b", "the instance has '_' at byte offset 1"},
           Case{"a:b", "the instance has ':' at byte offset 1"},
           Case{"a/../b", "the instance has '/' at byte offset 1"},
           Case{"ab ", "the instance has 0x20 at byte offset 2"},
           Case{"a\0b"s, "the instance has 0x00 at byte offset 1"},
           Case{"é", "the instance has 0xC3 at byte offset 0"},
       }) {
    auto const parsed = parse_instance(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error(), std::string(why) +
                                  "; give 1 to 63 of a-z, 0-9 and '-', a letter first and no '-' "
                                  "last");
  }
}

}  // namespace
}  // namespace holt
