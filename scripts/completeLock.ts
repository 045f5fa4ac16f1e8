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
const PLATFORM = /-(android|darwin|linux|win32)-(arm64|x64|amd64)(-musl)?$/

const lock = JSON.parse(readFileSync(FILE, 'utf8')) as Lock
const added: string[] = []
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const platform = PLATFORM.exec(name)
    const place = `node_modules/${name}`
    if (path === '' || platform === null || lock.packages[place] !== undefined) continue
    lock.packages[place] = {
      version,
      cpu: [platform[2]!.replace('amd64', 'x64')],
      ...(entry.dev === true ? { dev: true } : {}),
      ...(platform[3] === undefined ? {} : { libc: ['musl'] }),
      optional: true,
      os: [platform[1]!],
    }
    added.push(`${name}@${version}`)
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`)
console.log(added.length === 0 ? `${FILE} is complete` : `added to ${FILE}: ${added.join(', ')}`)
