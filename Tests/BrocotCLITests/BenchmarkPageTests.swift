import FoundationEssentials
import Testing

@Suite("Benchmark page") struct BenchmarkPageTests {
    @Test("The benchmark page has every sentence with figures that the README repeats") func sameFigures() throws {
        let readme = try Self.text(of: "README.md")
        let begin = try #require(readme.range(of: "<!-- From docs/benchmarks.md: `make bench` writes it. -->"))
        let end = try #require(readme.range(of: "<!-- The end of what `make bench` writes. -->"))
        let sentences = readme[begin.upperBound..<end.lowerBound].split(separator: "\n")
        let page = Set(try Self.text(of: "docs/benchmarks.md").split(separator: "\n"))
        #expect(!sentences.isEmpty)
        for sentence in sentences {
            #expect(page.contains(sentence), "docs/benchmarks.md has other figures: `make bench` writes both anew")
        }
    }

    @Test("The benchmark page has every section and picture that a link names") func links() throws {
        let (readme, page) = (try Self.text(of: "README.md"), try Self.text(of: "docs/benchmarks.md"))
        let titles = page.split(separator: "\n").filter { $0.hasPrefix("#") }.map { $0.drop { "# ".contains($0) } }
        let headings = Set(
            titles.map { title in
                title.lowercased().filter { $0.isLetter || $0.isNumber || " -".contains($0) }.replacing(" ", with: "-")
            })
        for link in readme.matches(of: /\(docs\/benchmarks\.md#([^)]*)\)/) {
            #expect(headings.contains(String(link.1)))
        }
        for picture in page.matches(of: /!\[[^\]]*\]\(([^)]*)\)/) {
            #expect(try !Self.text(of: "docs/\(picture.1)").isEmpty)
        }
    }

    private static func text(of name: String) throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOfFile: folder.appending(path: name).path, encoding: .utf8)
    }
}
