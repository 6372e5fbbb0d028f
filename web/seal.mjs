// Puts the build beside the renderer that fills it, with the digest of what it was built from: a test compares the two,
// so that nobody needs node to know whether the build is current. tests/page.py computes the same digest.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const sources = [
  "index.html", "package-lock.json", "package.json", "seal.mjs", "tsconfig.json", "vite.config.ts",
  ...readdirSync("src").map((name) => `src/${name}`),
].sort();
const digest = createHash("sha256");
for (const name of sources) digest.update(`${name}\0`).update(readFileSync(name)).update("\0");
const page = readFileSync("dist/index.html", "utf8");
const mark = '<script type="application/json" id="answers">[]</script>';
if (page.split(mark).length !== 2) throw new Error("the build has no place for answers");
writeFileSync("../src/teetotal/report/page.html", page.replace("<head>", `<head>\n    <meta name="sources" content="${digest.digest("hex")}" />`));
