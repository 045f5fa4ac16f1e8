// Before start, devnet and tests: checks the runtime and builds what is absent, for instance after `npm ci --ignore-scripts`.
// Plain JavaScript, because an older Node.js must be able to say that it is too old.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { buildEngine } from './buildEngine.js'
import { buildNode } from './buildNode.js'
import { buildWeb } from './buildWeb.js'

const NEEDED_MAJOR = 26
/** Packages with a native part that has no substitute. */
const NATIVE = ['classic-level']

const require = createRequire(import.meta.url)

if (Number(process.versions.node.split('.')[0]) < NEEDED_MAJOR) {
  fail(
    `needs Node.js ${NEEDED_MAJOR}, this is ${process.version}. On Linux with glibc (x64, arm64) npm installs it as an optional dependency: run npm ci without --omit=optional. Elsewhere install Node.js ${NEEDED_MAJOR}.`,
  )
}
for (const name of NATIVE) {
  if (loads(name)) continue
  console.log(`Building ${name} …`)
  // Windows needs the shell to find npm.cmd.
  spawnSync('npm', ['rebuild', '--ignore-scripts=false', name], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (!loads(name))
    fail(`the package ${name} has no binary for ${process.platform}-${process.arch} and could not be built`)
}
try {
  await buildEngine()
} catch (error) {
  fail(error.message)
}
try {
  await buildNode()
} catch (error) {
  // A user who may not write dist/ can still start the node.
  console.error(`coind: runs its sources, which start more slowly than a bundle: ${error.message}`)
}

try {
  await buildWeb()
} catch (error) {
  console.error(`coind: the explorer will have no pages: ${error.message}`)
}

/** Whether the package loads. It is loaded in its own process, since a failed load stays in the cache of modules. */
function loads(name) {
  return spawnSync(process.execPath, ['-e', `require(${JSON.stringify(require.resolve(name))})`]).status === 0
}

function fail(problem) {
  console.error(`coind: ${problem}`)
  process.exit(69)
}
