import { fileURLToPath } from 'node:url'

/** Whether the code runs as scripts/buildNode.js has bundled it. Its files lie in dist/node/, as deep as this one in src/. */
const IS_BUILT = !import.meta.url.endsWith('.ts')

/** The directory of the package: that of dist/, node_modules/, package.json. */
export const PACKAGE_ROOT = new URL('../../', import.meta.url)

/** The files that an explorer runs in addition to its main thread, and the file that starts it. */
const EXPLORER = {
  explorer: 'explorer/run.ts',
  explorerIndex: 'explorer/ingest/worker.ts',
  compilerProcess: 'explorer/verify/compilerProcess.ts',
} as const

const SOURCES = fileURLToPath(new URL('src/', PACKAGE_ROOT))
const BUILT = fileURLToPath(new URL('dist/node/', PACKAGE_ROOT))
/** packages in the bundle */
const BUILT_PACKAGES = `${BUILT}packages/`

/** Returns the module that runs in a thread of this role. */
export function threadEntry(role: string): URL {
  return new URL(IS_BUILT ? `dist/node/${role}.js` : `src/node/roles/${role}/${role}Thread.ts`, PACKAGE_ROOT)
}

/** Returns the module of a process or thread of the explorer. */
export function explorerEntry(name: keyof typeof EXPLORER): URL {
  return new URL(IS_BUILT ? `dist/node/${name}.js` : EXPLORER[name], PACKAGE_ROOT)
}

/**
 * Returns whether a file is code of this software, and not of a package that it uses. With source
 * maps (`node --enable-source-maps`) a stack of the bundle names the sources.
 */
export function isOwnCode(path: string): boolean {
  return path.startsWith(SOURCES) || (path.startsWith(BUILT) && !path.startsWith(BUILT_PACKAGES))
}
