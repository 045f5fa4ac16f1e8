// In the build of the image, after `npm run build`: leaves in node_modules and dist/ what the bundle in dist/node reads while it runs.
// Everything else of the packages is in the bundle. Plain JavaScript, as scripts/build.js.
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILT, MANIFEST } from '../bin/builtNode.js'
import { filesBelow, isBundled, runtimePackageFiles, SEALED_MANIFEST } from './runtimeFiles.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

if (!isBundled()) throw new Error('there is no bundle in dist/node')
keep('node_modules', runtimePackageFiles())
keep(
  'dist',
  filesBelow(ROOT, 'dist').map((file) => file.slice('dist/'.length)),
)
writeFileSync(new URL(MANIFEST, BUILT), SEALED_MANIFEST)

/** Removes all other files of a directory. */
function keep(directory, files) {
  const from = join(ROOT, directory)
  const copy = `${from}-copy`
  for (const file of files) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(from, file), join(copy, file))
  }
  rmSync(from, { recursive: true })
  renameSync(copy, from)
}
