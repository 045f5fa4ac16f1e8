import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Wallet } from 'ethers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { DEVNET_ACCOUNTS, DEVNET_MNEMONIC } from '../../../../src/cli/devnetAccounts.ts'
import { openKeystore } from '../../../../src/cli/keys/keystore.ts'
import { toBech32, toChecksumAddress } from '../../../../src/primitives/address.ts'
import { compareBytes, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { type Ran, runInProcess } from '../../../support/cli/inProcess.ts'

const PASSWORD = 'correct horse battery staple'
const [first, second, third] = DEVNET_ACCOUNTS
const ADDRESS = toBech32(first!.address)

let directory: string
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-keys-'))
  const keystore = openKeystore(join(directory, 'keys'), 1024)
  await keystore.add('alice', hexToBytes(first!.privateKey), PASSWORD)
  await keystore.add('bob', hexToBytes(second!.privateKey), PASSWORD)
})
afterEach(() => rmSync(directory, { recursive: true }))

function run(...args: string[]): Promise<Ran> {
  const environment = { COIND_KEYSTORE: join(directory, 'keys'), COIND_KEY_PASSWORD: PASSWORD }
  return runInProcess(directory, ['keys', ...args], { environment })
}
async function printed(...args: string[]): Promise<string> {
  const { code, printed: text, errors } = await run(...args)
  if (code !== 0) throw new Error(errors.join(' '))
  return text
}

describe('coind keys', () => {
  it('shows keys in the forms of the SDK’s programs', async () => {
    const pubkey = await printed('show', 'alice', '-p')
    expect(JSON.parse(pubkey)).toEqual({
      '@type': '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey',
      key: Buffer.from(new Wallet(first!.privateKey).signingKey.compressedPublicKey.slice(2), 'hex').toString('base64'),
    })
    const alice = { name: 'alice', type: 'local', address: ADDRESS, pubkey: pubkey.trim() }
    expect(JSON.parse(await printed('show', 'alice', '--output', 'json'))).toEqual(alice)
    expect(JSON.parse(await printed('list', '-o', 'json'))).toMatchObject([alice, { name: 'bob' }])
    expect(await printed('list', '-n')).toBe('alice\nbob\n')
    expect(await printed('show', ADDRESS, '-a')).toBe(`${ADDRESS}\n`)
    expect(await printed('show', 'alice', '-a', '--bech', 'val')).toBe(`${toBech32(first!.address, 'coinvaloper')}\n`)
    expect(parse(await printed('show', 'alice', '--bech', 'cons'))).toEqual({
      ...alice,
      address: toBech32(first!.address, 'coinvalcons'),
    })
  })

  it('adds a key of a mnemonic, and one of which only the public key is known', async () => {
    writeFileSync(join(directory, 'words'), DEVNET_MNEMONIC)
    const added = await printed('add', 'carol', '--source', 'words', '--index', '2', '-o', 'json')
    expect(JSON.parse(added)).toMatchObject({ name: 'carol', address: toBech32(third!.address) })
    expect(added).not.toContain('mnemonic')
    const pubkey = (await printed('show', 'carol', '--pubkey')).trim()
    expect(await run('add', 'copy', '--pubkey', pubkey)).toMatchObject({ code: 64, errors: [/under the name carol/] })
    expect(await printed('rename', 'carol', 'dave', '-y')).toBe('Renamed the key carol to dave\n')
    expect(await run('rename', 'dave', 'bob')).toMatchObject({ code: 64, errors: [/has a key bob already/] })
    expect(await printed('delete', 'dave', '-y')).toBe('Removed the key dave\n')
    await printed('add', 'cold', '--pubkey', pubkey)
    expect(JSON.parse(await printed('show', 'cold', '-o', 'json'))).toMatchObject({ type: 'offline', pubkey })
    expect(await run('export', 'cold', '--unsafe')).toMatchObject({ code: 64, errors: [/another machine signs/] })
    expect(await run('add', 'x', '--pubkey', '{"@type":"/cosmos.crypto.ed25519.PubKey"}')).toMatchObject({ code: 64 })
    await printed('delete', 'cold', '--yes')
    expect((await printed('mnemonic')).trim().split(' ')).toHaveLength(24)
  })

  it('exports a key encrypted, and imports it', async () => {
    const text = await printed('export', 'alice')
    expect((await Wallet.fromEncryptedJson(text, PASSWORD)).privateKey).toBe(first!.privateKey)
    writeFileSync(join(directory, 'exported.json'), text)
    await printed('delete', 'alice', '--yes')
    await printed('import', 'alice', 'exported.json')
    expect(await printed('export', 'alice', '--unarmored-hex', '--unsafe')).toBe(`${first!.privateKey}\n`)
    expect(await run('export', 'alice', '--unarmored-hex')).toMatchObject({ code: 64, errors: [/add --unsafe$/] })
  })

  it('makes multisigs, of keys in the order of their addresses', async () => {
    await printed('add', 'both', '--multisig', 'bob,alice', '--multisig-threshold', '2')
    await printed('add', 'unsorted', '--multisig', 'bob,alice', '--multisig-threshold', '1', '--nosort')
    const [both, unsorted] = await Promise.all(
      ['both', 'unsorted'].map(async (name) => JSON.parse(await printed('show', name, '-p'))),
    )
    expect(both).toMatchObject({ threshold: 2 })
    const inOrder = [first!, second!].toSorted((a, b) => compareBytes(a.address, b.address))
    const keyOf = (privateKey: string): string =>
      Buffer.from(new Wallet(privateKey).signingKey.compressedPublicKey.slice(2), 'hex').toString('base64')
    const keysIn = (multisig: { readonly public_keys: readonly { readonly key: string }[] }) =>
      multisig.public_keys.map(({ key }) => key)
    expect(keysIn(both)).toEqual(inOrder.map(({ privateKey }) => keyOf(privateKey)))
    expect(keysIn(unsorted)).toEqual([second!, first!].map(({ privateKey }) => keyOf(privateKey)))
    expect(JSON.parse(await printed('show', 'both', '-o', 'json'))).toMatchObject({ type: 'multi' })
    expect(await run('add', 'm', '--multisig', 'bob,alice', '--multisig-threshold', '3')).toMatchObject({ code: 64 })
    expect(await run('add', 'm', '--multisig', 'bob,bob')).toMatchObject({ code: 64, errors: ['a key is named twice'] })
    expect(await run('add', 'm', '--multisig', 'both,alice')).toMatchObject({ code: 64, errors: [/is a multisig/] })
    expect(await run('add', 'm', '--multisig', 'alice', '--ledger')).toMatchObject({ code: 64 })
  })

  it('reads addresses in every encoding', async () => {
    const hex = toChecksumAddress(first!.address)
    const formats = [...['coin', 'coinvaloper', 'coinvalcons'].map((prefix) => toBech32(first!.address, prefix)), hex]
    for (const text of [hex, hex.slice(2)]) {
      expect(JSON.parse(await printed('parse', text, '-o', 'json'))).toEqual({ formats })
    }
    expect(parse(await printed('parse', formats[1]!))).toEqual({
      human: 'coinvaloper',
      bytes: hex.slice(2).toUpperCase(),
    })
    expect(await run('parse', `${ADDRESS}x`)).toMatchObject({ code: 64 })
  })
})
