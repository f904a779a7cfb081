import FoundationEssentials
import TestLimit
import TestPostgres
import Testing

@Suite("Benchmark page", .usualTimeLimit) struct BenchmarkPageTests {
    @Test("The benchmark page has every sentence with figures that the README repeats") func sameFigures() throws {
        let readme = try Repository.text(of: "README.md")
        let begin = try #require(readme.range(of: "<!-- From docs/benchmarks.md: `make bench` writes it. -->"))
        let end = try #require(readme.range(of: "<!-- The end of what `make bench` writes. -->"))
        let sentences = readme[begin.upperBound..<end.lowerBound].split(separator: "\n")
        let page = Set(try Repository.text(of: "docs/benchmarks.md").split(separator: "\n"))
        #expect(!sentences.isEmpty)
        for sentence in sentences {
            #expect(page.contains(sentence), "docs/benchmarks.md has other figures: `make bench` writes both anew")
        }
    }

    @Test("The benchmark page has every section and picture that a link names") func links() throws {
        let (readme, page) = (try Repository.text(of: "README.md"), try Repository.text(of: "docs/benchmarks.md"))
        let titles = page.split(separator: "\n").filter { $0.hasPrefix("#") }.map { $0.drop { "# ".contains($0) } }
        let headings = Set(
            titles.map { title in
                title.lowercased().filter { $0.isLetter || $0.isNumber || " -".contains($0) }.replacing(" ", with: "-")
            })
        let links = readme.matches(of: /\(docs\/benchmarks\.md#([^)]*)\)/)
        try #require(!links.isEmpty)
        for link in links {
            #expect(headings.contains(String(link.1)))
        }
        let pictures = page.matches(of: /!\[[^\]]*\]\(([^)]*)\)/)
        try #require(!pictures.isEmpty)
        for picture in pictures {
            #expect(try !Repository.text(of: "docs/\(picture.1)").isEmpty)
        }
    }
}
