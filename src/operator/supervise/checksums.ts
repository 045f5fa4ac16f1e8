import { existsSync, readFileSync } from 'node:fs'
import { ConfigError } from '../../config/configError.ts'

/** SHA-256 of archives that the operator has given, by the upgrade's name. */
export type GivenChecksums = ReadonlyMap<string, string>

/** A checksum that an archive may have. */
export interface Checksum {
  /** 64 hex digits in lower case */
  readonly sha256: string
  /** who says so, for messages */
  readonly source: string
}

const SHA256 = /^[0-9a-f]{64}$/i
/** Go's names, which a plan uses (cosmovisor: GOOS/GOARCH). */
const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** Returns this machine's name in plans, e.g. `linux/amd64`. */
export function planPlatform(platform: string, architecture: string): string {
  return `${platform}/${GO_ARCHITECTURES[architecture] ?? architecture}`
}

/** @param texts `name=sha256`, as given by flags. @throws ConfigError */
export function parseGivenChecksums(texts: readonly string[]): GivenChecksums {
  return new Map(
    texts.map((text) => {
      const [name = '', sha256 = '', ...more] = text.split('=')
      if (name === '' || more.length > 0 || !SHA256.test(sha256)) {
        throw new ConfigError(`--sha256 is ${JSON.stringify(text)}: expected NAME=64 hex digits`)
      }
      return [name, sha256.toLowerCase()]
    }),
  )
}

/**
 * Returns the checksums that an archive may have: the one that the operator passed by a flag, and the plan's for this
 * platform. Only if the plan has no checksum, a file next to the archive counts, as `sha256sum` writes it: both files may come
 * from the same wrong place.
 * @param info of the plan; undefined: there is no plan, as for the first version
 * @returns also the plan's text for this platform when it is not a SHA-256
 */
export function acceptedChecksums(
  {
    given,
    info,
    checksumFile,
  }: { readonly given: string | undefined; readonly info: string | undefined; readonly checksumFile: string },
  platform: string,
): { readonly accepted: readonly Checksum[]; readonly unusable?: string } {
  const accepted: Checksum[] = []
  if (given !== undefined) accepted.push({ sha256: given, source: '--sha256' })
  const planned = info === undefined ? undefined : plannedChecksum(info, platform)
  if (planned !== undefined) {
    const [, sha256] = /^sha256:([0-9a-f]{64})$/i.exec(planned) ?? []
    if (sha256 === undefined) return { accepted, unusable: planned }
    accepted.push({ sha256: sha256.toLowerCase(), source: "the plan's info" })
  } else if (existsSync(checksumFile)) {
    const [sha256 = ''] = readFileSync(checksumFile, 'utf8').trim().split(/\s/, 1)
    if (SHA256.test(sha256)) accepted.push({ sha256: sha256.toLowerCase(), source: checksumFile })
  }
  return { accepted }
}

/**
 * Returns the checksum for a platform in a plan's info, unchanged; it is `sha256:…` where it is well-formed:
 * `{"binaries":{"linux/amd64":"https://…?checksum=sha256:…"}}`, where `any` stands for every platform (tools/cosmovisor of the
 * SDK, UpgradeConfig). undefined: the info has no checksum for it.
 */
export function plannedChecksum(info: string, platform: string): string | undefined {
  let parsed: { readonly binaries?: Readonly<Record<string, unknown>> | null } | null
  try {
    parsed = JSON.parse(info)
  } catch {
    // The info may be any text.
    return undefined
  }
  const binaries = parsed?.binaries
  if (typeof binaries !== 'object' || binaries === null) return undefined
  const url = Object.hasOwn(binaries, platform)
    ? binaries[platform]
    : Object.hasOwn(binaries, 'any')
      ? binaries.any
      : undefined
  if (typeof url !== 'string') return undefined
  // What makes no URL may have a checksum too.
  const query = /\?([^#]*)/.exec(url)?.[1]
  return new URLSearchParams(query).get('checksum') ?? undefined
}
