import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError } from '../../../src/config/configError.ts'
import { createValidatorKey, loadValidatorKey } from '../../../src/consensus/validatorKey.ts'
import { createNodeKey, loadNodeKey, loadOrCreateNodeKey } from '../../../src/p2p/nodeKey.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { loadVectors } from '../../support/chain/comet/goldenVectors.ts'
import { removeDirectories, temporaryDirectory } from '../../support/consensus/temporaryDirectories.ts'

afterAll(removeDirectories)

const vector = loadVectors('keys')
const seed = hexToBytes(vector.seed)

function fileWith(text: string, mode = 0o600): string {
  const path = join(temporaryDirectory(), 'key.json')
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

describe('priv_validator_key.json', () => {
  it("is CometBFT's, byte for byte, and its owner's only", () => {
    const path = join(temporaryDirectory(), 'key.json')
    expect(loadValidatorKey(path)).toBeUndefined()
    const created = createValidatorKey(path, seed)
    expect(readFileSync(path, 'utf8')).toBe(vector.privValidatorKey)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(bytesToHex(created.address)).toBe(`0x${vector.address}`)
    const loaded = loadValidatorKey(path)
    expect(loaded?.publicKey).toEqual(hexToBytes(vector.publicKey))
    expect(loaded?.seed).toEqual(seed)
  })

  it('is never overwritten', () => {
    const path = fileWith(vector.privValidatorKey)
    expect(() => createValidatorKey(path, new Uint8Array(32))).toThrow(ConfigError)
    expect(readFileSync(path, 'utf8')).toBe(vector.privValidatorKey)
  })

  const json = JSON.parse(vector.privValidatorKey)
  const otherKey = Buffer.alloc(32, 1).toString('base64')
  it.each([
    { what: 'no JSON', text: '{', message: /is not JSON/ },
    { what: 'another shape', text: '{"address":""}', message: /address: expected 40 upper-case hex digits/ },
    {
      what: 'another type of key',
      text: JSON.stringify({ ...json, priv_key: { ...json.priv_key, type: 'x' } }),
      message: /priv_key\.type/,
    },
    {
      what: 'a short key',
      text: JSON.stringify({ ...json, priv_key: { ...json.priv_key, value: otherKey } }),
      message: /32 bytes, expected 64/,
    },
    {
      what: 'a key in two halves',
      text: JSON.stringify({ ...json, priv_key: { ...json.priv_key, value: Buffer.alloc(64, 1).toString('base64') } }),
      message: /two halves/,
    },
    {
      what: 'another public key',
      text: JSON.stringify({ ...json, pub_key: { ...json.pub_key, value: otherKey } }),
      message: /do not belong together/,
    },
    {
      what: 'another address',
      text: JSON.stringify({ ...json, address: '0'.repeat(40) }),
      message: /do not belong together/,
    },
  ])('with $what is refused without showing it', ({ text, message }) => {
    const path = fileWith(text)
    expect(() => loadValidatorKey(path)).toThrow(ConfigError)
    expect(() => loadValidatorKey(path)).toThrow(message)
    const shown = String(
      (() => {
        try {
          loadValidatorKey(path)
        } catch (error) {
          return error
        }
      })(),
    )
    expect(shown).toContain(path)
    expect(shown).not.toContain(json.priv_key.value)
  })

  it.each([0o644, 0o640, 0o604, 0o660])('with mode %o is refused', (mode) => {
    expect(() => loadValidatorKey(fileWith(vector.privValidatorKey, mode))).toThrow(/chmod 600/)
  })

  it('that is a directory is refused', () => {
    const path = join(temporaryDirectory(), 'key.json')
    mkdirSync(path, { mode: 0o700 })
    expect(() => loadValidatorKey(path)).toThrow(/cannot be read \(EISDIR\)/)
  })
})

describe('node_key.json', () => {
  it("is CometBFT's, with its node ID", () => {
    const path = join(temporaryDirectory(), 'node_key.json')
    expect(loadNodeKey(path)).toBeUndefined()
    expect(createNodeKey(path, seed).id).toBe(vector.nodeId)
    expect(readFileSync(path, 'utf8')).toBe(vector.nodeKey)
    expect(loadNodeKey(path)?.id).toBe(vector.nodeId)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('is made once, with its directory', () => {
    const path = join(temporaryDirectory(), 'config', 'node_key.json')
    const { id } = loadOrCreateNodeKey(path)
    expect(loadOrCreateNodeKey(path).id).toBe(id)
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
  })

  it('that is malformed or open is refused', () => {
    expect(() => loadNodeKey(fileWith('{}'))).toThrow(ConfigError)
    expect(() => loadNodeKey(fileWith(vector.nodeKey, 0o644))).toThrow(/chmod 600/)
  })
})
