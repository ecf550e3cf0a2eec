# Homebrew builds clew from source. scripts/release/run.sh writes the url and the
# checksum of a tag above head; without a tag: brew install --HEAD ./packaging/clew.rb
class Clew < Formula
  desc "Keep long agent conversations inside the model's window"
  homepage "https://github.com/clew-dev/clew"
  license "MIT"
  head "https://github.com/clew-dev/clew.git", branch: "main"

  depends_on "go" => :build

  def install
    ENV["CGO_ENABLED"] = "0"
    system "go", "build", *std_go_args(ldflags: "-s -w -X main.version=#{version}"), "./cmd/clew"
    system "go", "run", "-tags", "man", "./cmd/clew", "doc"
    man1.install Dir["doc/*.1"]
    bash_completion.install "doc/clew.bash" => "clew"
    zsh_completion.install "doc/_clew"
    fish_completion.install "doc/clew.fish"
  end

  test do
    assert_match "session format", shell_output("#{bin}/clew version")
  end
end
