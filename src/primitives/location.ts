import { fileURLToPath } from 'node:url'

/** Whether the code runs as scripts/buildNode.js has bundled it. Its files lie in dist/node/, as deep as this one in src/. */
const IS_BUILT = !import.meta.url.endsWith('.ts')

/** The directory of the package: that of dist/, node_modules/, package.json. */
export const PACKAGE_ROOT = new URL('../../', import.meta.url)

const CODE = fileURLToPath(new URL(IS_BUILT ? 'dist/node/' : 'src/', PACKAGE_ROOT))
const PACKAGES = [`${CODE}packages/`, `${CODE}node_modules/`]

/** The module that runs in a thread of this role. */
export function threadEntry(role: string): URL {
  return new URL(IS_BUILT ? `dist/node/${role}.js` : `src/threads/${role}.ts`, PACKAGE_ROOT)
}

/** Whether a file is code of this software, and not of a package that it uses. */
export function isOwnCode(path: string): boolean {
  return path.startsWith(CODE) && !PACKAGES.some((directory) => path.startsWith(directory))
}
