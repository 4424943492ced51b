// Starts the language server, and stops it with the editor.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const [command, ...args] = workspace.getConfiguration("sase").get("command");
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const server = { command, args, options: { cwd: folder } };
  const documents = [{ language: "sase" }];
  client = new LanguageClient("sase", "SASE", server, { documentSelector: documents });
  await client.start();
};

exports.deactivate = () => client?.stop();
