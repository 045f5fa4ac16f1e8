import { rmSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { bundleVariant } from '../../scripts/buildNode.js'
import { releaseArchive } from '../../scripts/releaseArchive.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const HERE = import.meta.dirname

/** Sources that versions of the tests have in the place of the project's own. */
const VERSIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  v2: {
    'src/modules/upgrade/upgrades.ts': 'v2/upgrades.ts',
    'src/modules/slashing/params.ts': 'v2/slashingParams.ts',
  },
  v3: {
    'src/modules/upgrade/upgrades.ts': 'v3/upgrades.ts',
    'src/modules/slashing/params.ts': 'v2/slashingParams.ts',
  },
}

/** The archive of this version, as `npm run release` makes it but for the level of compression. */
export function thisVersion(): Buffer {
  return releaseArchive({ timeSeconds: 0, level: 1 })
}

/** Builds a version with further upgrades and gives its archive. @param directory for the bundle, removed in the end */
export async function buildVersion(name: 'v2' | 'v3', directory: string): Promise<Buffer> {
  const sources = VERSIONS[name]!
  const resolveId = (source: string, importer: string | undefined): string | undefined => {
    if (importer === undefined || !source.startsWith('.') || importer.startsWith(HERE)) return undefined
    const other = sources[relative(ROOT, join(dirname(importer), source))]
    return other && join(HERE, other)
  }
  try {
    await bundleVariant(directory, [{ name: 'another version', resolveId }])
    return releaseArchive({ bundle: directory, timeSeconds: 0, level: 1 })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
