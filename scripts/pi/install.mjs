// Installs pi and the Node it needs into a folder outside the repository, and
// prints the path of that Node. Does nothing when both are there already.
//
// The folder is $CLEW_PI_DIR, by default clew-pi-VERSION in the system's folder
// for temporary files. Everything comes from the npm registry that npm is set up
// to use; install scripts of packages are not run.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));

const piPackage = "@earendil-works/pi-coding-agent";
const piVersion = manifest.dependencies[piPackage];
const nodeVersion = manifest.clew.node;

/** The folder pi is installed in. */
export function piDir() {
  return resolve(process.env.CLEW_PI_DIR || join(tmpdir(), `clew-pi-${piVersion}`));
}

/** The folder of pi's package. */
export function piPackageDir() {
  return join(piDir(), "node_modules", ...piPackage.split("/"));
}

// npm's package "node" fetches one of these in an install script; naming it
// directly needs no script.
function nodePackage() {
  const prefix = process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node";
  return [prefix, process.platform === "win32" ? "win" : process.platform, process.arch].join("-");
}

function nodeBinary() {
  const dir = join(piDir(), "node_modules", nodePackage());
  return join(dir, "bin", process.platform === "win32" ? "node.exe" : "node");
}

function installed(dir, version) {
  try {
    return JSON.parse(readFileSync(join(dir, "package.json"), "utf8")).version === version;
  } catch {
    return false;
  }
}

/** Installs what is missing and returns the path of the Node binary. */
export function install() {
  const dir = piDir();
  const repository = realpathSync(resolve(here, "..", ".."));
  const refuseInside = (path) => {
    const from = relative(repository, path);
    if (!from.startsWith("..") && !isAbsolute(from)) {
      throw new Error(`${dir} is inside the repository; set CLEW_PI_DIR to a folder outside it`);
    }
  };
  refuseInside(dir);
  mkdirSync(dir, { recursive: true });
  refuseInside(realpathSync(dir)); // it may be a link
  const ready = () => installed(piPackageDir(), piVersion) && existsSync(nodeBinary());
  if (!ready()) {
    writeFileSync(
      join(dir, "package.json"),
      JSON.stringify({ private: true, dependencies: { [piPackage]: piVersion, [nodePackage()]: nodeVersion } }, null, 2),
    );
    const run = spawnSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: dir,
      stdio: ["ignore", process.stderr, process.stderr],
      shell: process.platform === "win32",
    });
    if (run.status !== 0 || !ready()) {
      throw new Error(`npm could not install ${piPackage}@${piVersion} and ${nodePackage()}@${nodeVersion} into ${dir}`);
    }
  }
  return nodeBinary();
}

if (process.argv[1] && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url))) {
  try {
    console.log(install());
  } catch (error) {
    console.error(`install: ${error.message}`);
    process.exit(1);
  }
}
