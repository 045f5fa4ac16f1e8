import fs, { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DirectEthSecp256k1HdWallet } from '@cosmjs/proto-signing'
import { Wallet as EthersWallet } from 'ethers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DEVNET_ACCOUNTS, DEVNET_MNEMONIC } from '../../../../src/cli/devnetAccounts.ts'
import { openKeystore } from '../../../../src/cli/keys/keystore.ts'
import { createMnemonic, hdPath, keyOfMnemonic } from '../../../../src/cli/keys/mnemonic.ts'
import { toBech32, toChecksumAddress } from '../../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'

const KEY = hexToBytes(DEVNET_ACCOUNTS[1]!.privateKey)
const ADDRESS = DEVNET_ACCOUNTS[1]!.address
/** the real cost takes a second a key */
const FEW_ROUNDS = 1024

let directory: string

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'coind-keys-')), 'keys')
})
afterEach(() => {
  rmSync(join(directory, '..'), { recursive: true })
})

describe('a keystore', () => {
  it('gives back a key for its password alone', async () => {
    const keystore = openKeystore(directory, FEW_ROUNDS)
    expect(keystore.list()).toEqual([])
    const key = await keystore.add('alice', KEY, 'correct horse')
    expect(keystore.list()).toEqual([{ ...key, address: ADDRESS, kind: 'local', hdPath: undefined }])
    expect(await keystore.open(key, 'correct horse')).toEqual(KEY)
    await expect(keystore.open(key, 'wrong horse')).rejects.toThrow(/cannot open/)
    keystore.remove(key)
    expect(keystore.list()).toEqual([])
  })

  it('finds a key by its name and by both encodings of its address', async () => {
    const keystore = openKeystore(directory, FEW_ROUNDS)
    await keystore.add('alice', KEY, 'correct horse')
    for (const name of ['alice', toChecksumAddress(ADDRESS), toBech32(ADDRESS)]) {
      expect(keystore.find(name).name).toBe('alice')
    }
    expect(() => keystore.find('bob')).toThrow('there is no key bob')
  })

  it('keeps secrets to their owner, and one file a key', async () => {
    const keystore = openKeystore(directory, FEW_ROUNDS)
    await keystore.add('alice', KEY, 'correct horse')
    const path = join(directory, 'alice.json')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(readFileSync(path, 'utf8')).not.toContain(bytesToHex(KEY).slice(2))
    const other = hexToBytes(DEVNET_ACCOUNTS[2]!.privateKey)
    await expect(keystore.add('alice', other, 'correct horse')).rejects.toThrow('already has a key alice')
    await expect(keystore.add('bob', KEY, 'correct horse')).rejects.toThrow('already has this key under the name alice')
    await expect(keystore.add('../bob', other, 'correct horse')).rejects.toThrow('cannot name a key')
  })

  it('has new names of keys, and that they are gone, on stable storage', async () => {
    const keystore = openKeystore(directory, FEW_ROUNDS)
    const key = await keystore.add('alice', KEY, 'correct horse')
    expect(syncedNames(() => keystore.rename(key, 'bob'))).toEqual(['bob.json'])
    expect(syncedNames(() => keystore.remove(keystore.find('bob')))).toEqual([])
  })

  it('has the format of other wallets', async () => {
    const keystore = openKeystore(directory, FEW_ROUNDS)
    await keystore.add('alice', KEY, 'correct horse')
    const theirs = EthersWallet.fromEncryptedJsonSync(
      readFileSync(join(directory, 'alice.json'), 'utf8'),
      'correct horse',
    )
    expect(theirs.address).toBe(toChecksumAddress(ADDRESS))
    const bob = new EthersWallet(DEVNET_ACCOUNTS[2]!.privateKey)
    writeFileSync(join(directory, 'bob.json'), bob.encryptSync('correct horse'))
    expect(bytesToHex(await keystore.open(keystore.find('bob'), 'correct horse'))).toBe(bob.privateKey)
  })

  it('says which file is damaged', async () => {
    const keystore = openKeystore(directory, FEW_ROUNDS)
    const key = await keystore.add('alice', KEY, 'correct horse')
    const path = join(directory, 'alice.json')
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace(bytesToHex(ADDRESS).slice(2), bytesToHex(DEVNET_ACCOUNTS[2]!.address).slice(2)))
    await expect(keystore.open(keystore.find('alice'), 'correct horse')).rejects.toThrow('its key does not match')
    writeFileSync(path, '{}')
    expect(() => keystore.list()).toThrow(`${path} is not a keystore file`)
    await expect(keystore.open(key, 'correct horse')).rejects.toThrow('cannot open')
  })

  it('gives a key by its name whatever other files hold', async () => {
    const keystore = openKeystore(directory, FEW_ROUNDS)
    await keystore.add('alice', KEY, 'correct horse')
    writeFileSync(join(directory, 'notes.json'), '{"address":7}')
    expect(keystore.find('alice').address).toEqual(ADDRESS)
    expect(keystore.addressOf('alice')).toEqual(ADDRESS)
    expect(() => keystore.find('bob')).toThrow(/notes\.json is not a keystore file.*move it elsewhere/)
    expect(() => keystore.checkName('alice')).toThrow('already has a key alice')
    expect(() => keystore.checkName('bob')).not.toThrow()
  })
})

/** The names that the keystore's directory has when it is synced last; undefined when it is not synced. */
function syncedNames(act: () => void): readonly string[] | undefined {
  const real = fs.fsyncSync
  let names: readonly string[] | undefined
  const replace = (fsyncSync: typeof real): void => {
    Object.assign(fs, { fsyncSync })
    syncBuiltinESMExports()
  }
  replace((file) => {
    if (fs.fstatSync(file).ino === fs.statSync(directory).ino) names = fs.readdirSync(directory)
    real(file)
  })
  try {
    act()
  } finally {
    replace(real)
  }
  return names
}

describe('mnemonics', () => {
  it('give the keys that other wallets derive', async () => {
    for (const [index, { privateKey }] of DEVNET_ACCOUNTS.slice(0, 3).entries()) {
      expect(bytesToHex(await keyOfMnemonic(`  ${DEVNET_MNEMONIC.toUpperCase()}\n`, hdPath(index)))).toBe(privateKey)
    }
    const fresh = await createMnemonic()
    expect(fresh.split(' ')).toHaveLength(24)
    const ours = await keyOfMnemonic(fresh, hdPath(0))
    const theirs = await DirectEthSecp256k1HdWallet.fromMnemonic(fresh, { prefix: 'coin' })
    const [account] = await theirs.getAccounts()
    expect(account!.address).toBe(toBech32(hexToBytes(new EthersWallet(bytesToHex(ours)).address)))
  })

  it('are refused with a wrong checksum', async () => {
    await expect(keyOfMnemonic(DEVNET_MNEMONIC.replace('junk', 'test'), hdPath(0))).rejects.toThrow('BIP-39')
    await expect(keyOfMnemonic('', hdPath(0))).rejects.toThrow('BIP-39')
  })
})
