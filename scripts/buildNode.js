// Bundles src/ and explorer/ to dist/node/, unless the bundle there was made from the same sources: a node that starts reads 150 files in place of
// 1,500. Plain JavaScript, as scripts/prepare.js, which calls it.
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILT, builtEntry, ENTRY, EXPLORER_ENTRY, hashOf, MANIFEST } from '../bin/builtNode.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ENTRIES = [
  { name: ENTRY.slice(0, -'.js'.length), source: 'src/cli/run.ts' },
  ...[
    'executor',
    'joiner',
    'network',
    'offlineExecutor',
    'pool',
    'background',
    'snapshots',
    'socket',
    'speculator',
    'tracing',
    'view',
  ].map((role) => ({
    name: role,
    source: `src/node/roles/${role}/${role}Thread.ts`,
  })),
  { name: EXPLORER_ENTRY.slice(0, -'.js'.length), source: 'explorer/run.ts' },
  { name: 'explorerIndex', source: 'explorer/ingest/worker.ts' },
  { name: 'compilerProcess', source: 'explorer/verify/compilerProcess.ts' },
]
/** Packages with native parts next to their sources, or that are loaded by a path while the node runs. */
export const EXTERNAL = [/^node:/, 'classic-level', 'mcl-wasm', 'secp256k1']
/** The directory of the bundle's parts that are packages: src/primitives/location.ts tells them from our own code. */
const PACKAGES = 'packages'
const IN_PACKAGE = /[\\/]node_modules[\\/]/
/** Decides, together with the sources, which packages are bundled. */
const LOCK = 'package-lock.json'

/**
 * Builds the bundle if it is missing or was made from other sources. Without a bundler that loads it does nothing: the node runs its
 * sources then. Throws when the bundler fails or dist/ cannot be written.
 */
export async function buildNode() {
  if (builtEntry() !== undefined) return
  const rolldown = await loadBundler()
  if (rolldown === undefined) return
  try {
    await bundle(rolldown)
  } catch (error) {
    // Another process may have built it at the same time.
    if (builtEntry() === undefined) throw new Error(`src/ could not be bundled (${error.message})`, { cause: error })
  }
}

/** Bundles other sources than these: for tests. `plugins` are Rolldown's, and `directory` gets the bundle. */
export async function bundleVariant(directory, plugins) {
  const { rolldown } = await import('rolldown')
  for (const entry of ENTRIES) await bundleEntry(rolldown, directory, entry, plugins)
}

async function bundle(rolldown) {
  console.log('Building the node (dist/node) …')
  const built = fileURLToPath(BUILT)
  // Not mkdtempSync: others than who builds it may run it.
  const directory = `${built.slice(0, -1)}-${process.pid}`
  try {
    const own = new Set()
    for (const entry of ENTRIES) for (const id of await bundleEntry(rolldown, directory, entry)) own.add(id)
    const files = [LOCK, ...Array.from(own, (id) => relative(ROOT, id).replaceAll('\\', '/')).sort()]
    writeFileSync(join(directory, MANIFEST), JSON.stringify({ sha256: hashOf(files), files }))
    rmSync(built, { recursive: true, force: true })
    renameSync(directory, built)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * Bundles an entry alone: a thread shares no code with others anyway. One file with everything that it always loads takes a third
 * of the time of the hundred pieces that several threads could share.
 * @returns our own sources in it
 */
async function bundleEntry(rolldown, directory, { name, source }, plugins = []) {
  const build = await rolldown({
    cwd: ROOT,
    platform: 'node',
    external: EXTERNAL,
    plugins,
    input: { [name]: source },
    logLevel: 'silent',
  })
  const { output } = await build.write({
    dir: directory,
    format: 'esm',
    sourcemap: true,
    comments: false,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: {
      groups: [
        { name: `${PACKAGES}/${name}`, test: IN_PACKAGE, tags: ['$initial'], priority: 1 },
        { name: packageChunk, test: IN_PACKAGE },
      ],
    },
  })
  await build.close()
  for (const { fileName, code } of output) {
    if (code !== undefined) writeFileSync(join(directory, fileName), toLatin1(code))
    // Source maps of packages: larger than all the rest, and a stack says as much without them.
    if (fileName.startsWith(`${PACKAGES}/`) && fileName.endsWith('.map')) rmSync(join(directory, fileName))
  }
  return output.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => id.startsWith(ROOT) && !IN_PACKAGE.test(id))
}

/**
 * Returns the same code without characters beyond Latin-1. Each thread's V8 holds the text of all code, and one such character
 * doubles its memory. They occur only in literals, where the escape means the same.
 */
function toLatin1(code) {
  return code.replace(/[^\0-\xff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Returns the name of the file for a package that is loaded when it is needed. */
function packageChunk(id) {
  const [scope, name] = id.replaceAll('\\', '/').split('/node_modules/').at(-1).split('/')
  return `${PACKAGES}/${scope.startsWith('@') ? `${scope}-${name}` : scope}`
}

async function loadBundler() {
  try {
    return (await import('rolldown')).rolldown
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined
    // Its native part is an optional package, and it needs a newer Node.js than `npm ci` may run on.
    console.error(
      `coind: the bundler does not load, the node will run its sources, which start more slowly (${firstLine(error)})`,
    )
    return undefined
  }
}

function firstLine(error) {
  return error.message.split('\n', 1)[0]
}
