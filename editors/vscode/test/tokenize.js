// Prints the tokens of files by the grammar, as JSON: for each file its lines, of each line the text and scopes.
const fs = require("fs");
const path = require("path");
const oniguruma = require("vscode-oniguruma");
const { Registry, parseRawGrammar, INITIAL } = require("vscode-textmate");

const GRAMMAR = path.join(__dirname, "..", "syntaxes", "sase.tmLanguage.json");

async function main(files) {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length));
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(fs.readFileSync(GRAMMAR, "utf8"), GRAMMAR),
  });
  const grammar = await registry.loadGrammar("source.sase");
  const tokenized = {};
  for (const file of files) {
    let stack = INITIAL;
    tokenized[file] = [];
    for (const line of fs.readFileSync(file, "utf8").split("\n")) {
      const found = grammar.tokenizeLine(line, stack);
      stack = found.ruleStack;
      for (const token of found.tokens) {
        const scope = token.scopes[token.scopes.length - 1];
        tokenized[file].push([line.slice(token.startIndex, token.endIndex), scope]);
      }
    }
  }
  console.log(JSON.stringify(tokenized));
}

main(process.argv.slice(2));
