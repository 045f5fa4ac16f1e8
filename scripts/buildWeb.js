// Builds the explorer's pages (web/) to dist/web, unless those there were made from the same sources. Plain JavaScript, as
// scripts/prepare.js, which calls it.
import { globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { hashOf } from '../bin/builtNode.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUILT = join(ROOT, 'dist/web')
/** SHA-256 of the sources that the pages were made from. */
const MARK = join(BUILT, 'sources.sha256')
/** Smaller files are not compressed: that would save less than the name of the encoding takes. */
const MIN_COMPRESSED = 1_000

/** Builds the pages if they are missing or old. Without a bundler that loads it does nothing: the explorer has only its API then. */
export async function buildWeb() {
  const sha256 = hashOf([
    'package-lock.json',
    ...globSync('explorer/web/**/*.{ts,tsx,css,html,svg,json}', { cwd: ROOT }).sort(),
  ])
  if (readMark() === sha256) return
  const vite = await loadVite()
  if (vite === undefined) return
  console.log('Building the pages (dist/web) …')
  rmSync(BUILT, { recursive: true, force: true })
  // Else a build within a test would have React's checks of development.
  process.env.NODE_ENV = 'production'
  await vite.build({
    root: join(ROOT, 'explorer/web'),
    configFile: join(ROOT, 'explorer/web/vite.config.ts'),
    logLevel: 'warn',
  })
  for (const file of globSync('**/*.{js,css,html,svg}', { cwd: BUILT })) compress(join(BUILT, file))
  writeFileSync(MARK, sha256)
}

/** Writes the compressed forms next to a file, once here and not for each browser. */
function compress(path) {
  if (statSync(path).size < MIN_COMPRESSED) return
  const content = readFileSync(path)
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
  )
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
}

function readMark() {
  try {
    return readFileSync(MARK, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

async function loadVite() {
  try {
    return await import('vite')
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined
    console.error(
      `coind: the bundler does not load, the explorer will have no pages (${error.message.split('\n', 1)[0]})`,
    )
    return undefined
  }
}
