import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Completes package-lock.json after `npm install`. npm leaves out the optional packages of other platforms that the registry in use
 * does not carry, and `npm ci` then refuses the file everywhere. An entry without integrity is enough for machines that skip
 * the package, and pins its version on those that install it.
 */
interface LockEntry {
  readonly version?: string
  readonly dev?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Lock {
  packages: Record<string, LockEntry & Record<string, unknown>>
}

const FILE = 'package-lock.json'
/** The end of such a package's name: system, processor, C library or binary interface. */
const PLATFORM =
  /-(android|darwin|freebsd|linux|openharmony|win32)-(arm64|arm|x64|amd64|ia32|ppc64|riscv64|s390x)(?:-(\w+))?$|-(wasm32)-wasi$/

const lock = JSON.parse(readFileSync(FILE, 'utf8')) as Lock
const added: string[] = []
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const platform = PLATFORM.exec(name)
    const lockPath = `node_modules/${name}`
    if (path === '' || platform === null || lock.packages[lockPath] !== undefined) continue
    const [, system, processor = platform[4]!, library] = platform
    lock.packages[lockPath] = {
      version,
      cpu: [processor.replace('amd64', 'x64')],
      ...(entry.dev === true ? { dev: true } : {}),
      ...(library === 'musl' ? { libc: ['musl'] } : {}),
      optional: true,
      ...(system === undefined ? {} : { os: [system] }),
    }
    added.push(`${name}@${version}`)
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`)
console.log(added.length === 0 ? `${FILE} is complete` : `added to ${FILE}: ${added.join(', ')}`)
