// The node as scripts/buildNode.js has bundled it: it loads in two thirds of the processor time that its sources take.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const ROOT = new URL('../', import.meta.url)
export const BUILT = new URL('dist/node/', ROOT)
export const ENTRY = 'run.js'
/** Entry of `coind explorer`. */
export const EXPLORER_ENTRY = 'explorer.js'
/** `files`: what the bundle was made from, relative to the package; `sha256`: of those files. */
export const MANIFEST = 'manifest.json'

/** Returns an entry of the bundle; undefined when there is no bundle, or it was made from other sources and must not run. */
export function builtEntry(name = ENTRY) {
  try {
    const { files, sha256 } = JSON.parse(readFileSync(new URL(MANIFEST, BUILT), 'utf8'))
    return hashOf(files) === sha256 ? new URL(name, BUILT) : undefined
  } catch (error) {
    // It is absent or was not written to its end, or one of its sources is gone: this needs no message.
    if (error.code !== 'ENOENT' && !(error instanceof SyntaxError)) {
      console.error(`coind: runs its sources, which start more slowly than the bundle in dist/node (${error.message})`)
    }
    return undefined
  }
}

/** Returns the SHA-256 of files of the package, with their names. */
export function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of files) {
    const content = readFileSync(new URL(file, ROOT))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}
