import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isOwnCode, PACKAGE_ROOT, threadEntry } from '../../../src/primitives/location.ts'

const file = (path: string): string => fileURLToPath(new URL(path, PACKAGE_ROOT))

describe('isOwnCode', () => {
  it.each(['src/p2p/host.ts', 'dist/node/network.js', 'dist/node/host-Bx1.js'])('knows %s', (path) => {
    expect(isOwnCode(file(path))).toBe(true)
  })

  it.each(['dist/node/packages/libp2p-Bx1.js', 'node_modules/libp2p/dist/src/index.js', 'test/unit/x.ts'])(
    'leaves %s to others',
    (path) => expect(isOwnCode(file(path))).toBe(false),
  )
})

describe('threadEntry', () => {
  it('is a file of the sources, which run here', () => {
    expect(existsSync(threadEntry('executor'))).toBe(true)
  })
})
