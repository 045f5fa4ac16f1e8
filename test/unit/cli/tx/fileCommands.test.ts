import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createMultisigThresholdPubkey,
  encodeEthSecp256k1Pubkey,
  encodeEthSecp256k1Signature,
  type MultisigThresholdPubkey,
  makeSignDoc,
  pubkeyToAddress,
  serializeSignDoc,
} from '@cosmjs/amino'
import { keccak256, Secp256k1 } from '@cosmjs/crypto'
import { AminoTypes, createDefaultAminoConverters } from '@cosmjs/stargate'
import { MultiSignature } from 'cosmjs-types/cosmos/crypto/multisig/v1beta1/multisig'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { recoverTransactionAddress, serializeTransaction } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openKeystore } from '../../../../src/cli/keys/keystore.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { keyOf } from '../../../../src/modules/tx/signTransaction.ts'
import { createTransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { toChecksumAddress } from '../../../../src/primitives/address.ts'
import { COSMJS_SIGNERS, signWithCosmJs } from '../../../native/cosmJsSigners.ts'
import { TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'
import { type Ran, runInProcess } from '../../../support/cli/inProcess.ts'

/** Transactions in files, signed without a node; CosmJS makes the same bytes. */

const PASSWORD = 'correct horse battery staple'
const NAMES = ['alice', 'bob', 'carol'] as const
const [alice, bob, carol] = [1, 2, 3].map((number) => testAccount(number)) as [
  ReturnType<typeof testAccount>,
  ReturnType<typeof testAccount>,
  ReturnType<typeof testAccount>,
]
const OFFLINE = ['--offline', '--chain-id', TEST_CHAIN.chainId, '--sequence', '3']
const FEE = { amount: [{ denom: 'acoin', amount: '1000000000000000' }], gas: '1000000' }
const TERMS = ['--gas', FEE.gas, '--fees', `${FEE.amount[0]!.amount}acoin`, '--offline']

let directory: string
const file = (name: string): string => join(directory, name)

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-files-'))
  // The real cost of a password takes a second a key.
  const keystore = openKeystore(file('keys'), 1024)
  for (const [index, { privateKey }] of [alice, bob, carol].entries()) {
    await keystore.add(NAMES[index]!, privateKey, PASSWORD)
  }
  await printed('keys', 'add', 'three', '--multisig', 'alice,bob,carol', '--multisig-threshold', '2')
})
afterAll(() => rmSync(directory, { recursive: true }))

function run(...args: string[]): Promise<Ran> {
  return runInProcess(directory, args, {
    environment: { COIND_KEYSTORE: file('keys'), COIND_KEY_PASSWORD: PASSWORD, COIND_NODE: 'http://127.0.0.1:1' },
  })
}

/** What a command prints. @throws Error with what it said instead */
async function printed(...args: string[]): Promise<string> {
  const { code, printed: text, errors } = await run(...args)
  if (code !== 0) throw new Error(`${args.join(' ')}: ${errors.join(' ')}`)
  return text
}

/** Builds an unsigned payment of 5 acoin to carol. @returns the name of its file */
async function payment(from: string, ...more: string[]): Promise<string> {
  const name = `${from}.json`
  const args = ['tx', 'bank', 'send', carol.bech32, '5acoin', '--from', from, '--generate-only', ...TERMS, ...more]
  writeFileSync(file(name), await printed(...args))
  return name
}

const sendOf = (from: string) => ({
  typeUrl: '/cosmos.bank.v1beta1.MsgSend',
  value: { fromAddress: from, toAddress: carol.bech32, amount: [{ denom: 'acoin', amount: '5' }] },
})
const bytesOf = async (name: string): Promise<Uint8Array> => Buffer.from(await printed('tx', 'encode', name), 'base64')

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

function check(raw: Uint8Array) {
  const decoded = createTransactionDecoder(TEST_CHAIN).decodeNative(raw)
  if (isSdkError(decoded)) throw new Error(decoded.message)
  return decoded
}

describe('a transaction in a file', () => {
  it('has the form of the SDK’s programs', async () => {
    const unsigned = JSON.parse(readFileSync(file(await payment('alice', '--note', 'hi')), 'utf8'))
    expect(unsigned).toEqual({
      body: {
        messages: [
          {
            '@type': '/cosmos.bank.v1beta1.MsgSend',
            from_address: alice.bech32,
            to_address: carol.bech32,
            amount: [{ denom: 'acoin', amount: '5' }],
          },
        ],
        memo: 'hi',
        timeout_height: '0',
        extension_options: [],
        non_critical_extension_options: [],
      },
      auth_info: {
        signer_infos: [],
        fee: { amount: FEE.amount, gas_limit: FEE.gas, payer: '', granter: '' },
        tip: null,
      },
      signatures: [],
    })
  })

  it('is read as newer versions of those programs write it, unless it says what there is not here', async () => {
    const unsigned = JSON.parse(readFileSync(file(await payment('alice')), 'utf8'))
    const write = (more: object): void =>
      writeFileSync(file('newer.json'), JSON.stringify({ ...unsigned, body: { ...unsigned.body, ...more } }))
    write({ unordered: false, timeout_timestamp: null })
    expect(await bytesOf('newer.json')).toEqual(await bytesOf('alice.json'))
    write({ unordered: true, timeout_timestamp: null })
    expect(await run('tx', 'encode', 'newer.json')).toMatchObject({ code: 64, errors: [/body\.unordered/] })
  })

  it('is from whom --from names, whatever key the environment has', async () => {
    const environment = { COIND_KEYSTORE: file('keys'), COIND_PRIVATE_KEY: hex(bob.privateKey) }
    const args = ['tx', 'bank', 'send', carol.bech32, '5acoin', '--generate-only', ...TERMS]
    const senderOf = async (...more: string[]): Promise<string> => {
      const { printed: text } = await runInProcess(directory, [...args, ...more], { environment })
      return JSON.parse(text).body.messages[0].from_address
    }
    expect(await senderOf('--from', 'alice')).toBe(alice.bech32)
    expect(await senderOf()).toBe(bob.bech32)
  })

  it.each([
    ['direct', 'directEthSecp256k1'],
    ['amino-json', 'aminoEthSecp256k1'],
  ] as const)('is signed as CosmJS signs it: %s', async (mode, wallet) => {
    const unsigned = await payment('alice')
    const sign = ['tx', 'sign', unsigned, '--from', 'alice', '--sign-mode', mode, ...OFFLINE]
    await printed(...sign, '--output-document', 'signed.json')
    const raw = await bytesOf('signed.json')
    expect(check(raw)).toMatchObject({ sender: alice.address, sequence: 3n })
    const signer = await COSMJS_SIGNERS[wallet](alice.privateKey)
    const theirs = await signWithCosmJs(signer, [sendOf(alice.bech32)], { sequence: 3, fee: FEE })
    // Keys have this chain's own type here.
    expect(check(theirs).signers[0]!.publicKey).toEqual(check(raw).signers[0]!.publicKey)
    const [own, other] = [raw, theirs].map((bytes) => check(bytes).signers[0]!.signatures.map(hex))
    if (mode === 'amino-json') expect(own).toEqual(other)
    const decoded = JSON.parse(await printed('tx', 'decode', Buffer.from(raw).toString('base64')))
    expect(decoded).toEqual(JSON.parse(readFileSync(file('signed.json'), 'utf8')))
    const validate = ['tx', 'validate-signatures', 'signed.json', '--offline', '--chain-id']
    expect(await printed(...validate, TEST_CHAIN.chainId)).toMatch(/All signatures are valid\n$/)
    expect(await run(...validate, 'coin_7628-1')).toMatchObject({ code: 1, errors: [/verification failed/] })
  })

  it('is signed by each of its signers', async () => {
    const messages = [alice, bob].map(({ bech32 }) => ({
      '@type': '/cosmos.bank.v1beta1.MsgSend',
      from_address: bech32,
      to_address: carol.bech32,
      amount: [{ denom: 'acoin', amount: '5' }],
    }))
    const tx = JSON.parse(readFileSync(file(await payment('alice', '--fee-payer', carol.bech32)), 'utf8'))
    writeFileSync(file('two.json'), JSON.stringify({ ...tx, body: { ...tx.body, messages } }))
    const direct = await run('tx', 'sign', 'two.json', '--from', 'alice', '--sign-mode', 'direct', ...OFFLINE)
    expect(direct).toMatchObject({ code: 64, errors: [/several signers need amino-json/] })
    // In any order.
    for (const [index, name] of ['carol', 'alice', 'bob'].entries()) {
      const from = index === 0 ? 'two.json' : `two-${index}.json`
      await printed('tx', 'sign', from, '--from', name, ...OFFLINE, '--output-document', `two-${index + 1}.json`)
    }
    expect(check(await bytesOf('two-3.json'))).toMatchObject({
      signers: [{ address: alice.address }, { address: bob.address }, { address: carol.address }],
      feePayer: carol.address,
    })
  })

  it('is not signed by others than its signers, nor asks a node when it must not', async () => {
    const unsigned = await payment('alice')
    expect(await run('tx', 'sign', unsigned, '--from', 'bob', ...OFFLINE)).toMatchObject({
      code: 64,
      errors: [`the transaction must be signed by ${alice.bech32}, not by ${bob.bech32}`],
    })
    expect(await run('tx', 'sign', unsigned, '--from', 'alice', '--offline')).toMatchObject({
      code: 64,
      errors: [/^--offline asks no node: give --chain-id/],
    })
    expect(await run('tx', 'sign', unsigned, '--from', 'alice', '-a', '7', ...OFFLINE)).toMatchObject({ code: 64 })
    expect(await run('tx', 'sign', unsigned, '--from', 'three', ...OFFLINE)).toMatchObject({
      code: 64,
      errors: [/its members sign/],
    })
    expect(await run('tx', 'broadcast', unsigned)).toMatchObject({ code: 69 })
    for (const wrong of ['zz', 'AAA=', '0x0', '']) expect(await run('tx', 'decode', wrong)).toMatchObject({ code: 64 })
  })
})

describe('a multisig', () => {
  const members = [alice, bob, carol]
    .toSorted((a, b) => Buffer.compare(a.address, b.address))
    .map((account) => ({ ...account, pubkey: encodeEthSecp256k1Pubkey(keyOf(account).key) }))
  const theirs: MultisigThresholdPubkey = createMultisigThresholdPubkey(
    members.map(({ pubkey }) => pubkey),
    2,
    true,
  )
  const address = pubkeyToAddress(theirs, 'coin')

  it('has the address and key that CosmJS gives it', async () => {
    expect(await printed('keys', 'show', 'three', '-a')).toBe(`${address}\n`)
    expect(JSON.parse(await printed('keys', 'show', 'three', '--pubkey'))).toEqual({
      '@type': '/cosmos.crypto.multisig.LegacyAminoPubKey',
      threshold: 2,
      public_keys: members.map(({ pubkey }) => ({
        '@type': '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey',
        key: pubkey.value,
      })),
    })
  })

  it('signs with the bytes that CosmJS puts together', async () => {
    const unsigned = await payment('three')
    const signatures = new Map<string, Uint8Array>()
    const files: string[] = []
    for (const name of ['carol', 'alice']) {
      const sign = ['tx', 'sign', unsigned, '--from', name, '--multisig', 'three', ...OFFLINE]
      await printed(...sign, '--output-document', `${name}-signature.json`)
      files.push(`${name}-signature.json`)
    }
    for (const { privateKey, bech32 } of [carol, alice]) {
      const aminoTypes = new AminoTypes(createDefaultAminoConverters())
      const doc = makeSignDoc([aminoTypes.toAmino(sendOf(address))], FEE, TEST_CHAIN.chainId, '', 0, 3)
      const signature = Secp256k1.createSignature(keccak256(serializeSignDoc(doc)), privateKey)
      const bytes = new Uint8Array([...signature.r(32), ...signature.s(32)])
      signatures.set(
        bech32,
        Buffer.from(encodeEthSecp256k1Signature(keyOf({ privateKey }).key, bytes).signature, 'base64'),
      )
    }
    const [first] = JSON.parse(readFileSync(file(files[0]!), 'utf8')).signatures
    expect(first).toEqual({
      public_key: { '@type': '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey', key: expect.any(String) },
      data: {
        single: {
          mode: 'SIGN_MODE_LEGACY_AMINO_JSON',
          signature: Buffer.from(signatures.get(carol.bech32)!).toString('base64'),
        },
      },
      sequence: '3',
    })
    await printed('tx', 'multisign', unsigned, 'three', ...files, ...OFFLINE, '--output-document', 'multi.json')
    const raw = await bytesOf('multi.json')
    expect(check(raw)).toMatchObject({ sequence: 3n, keyCount: 3, signatureCounts: { ethSecp256k1: 2, secp256k1: 0 } })
    // CosmJS's own types read what was put together.
    const { bodyBytes, authInfoBytes, signatures: bytes } = TxRaw.decode(raw)
    expect(TxBody.decode(bodyBytes).messages).toHaveLength(1)
    const { signerInfos } = AuthInfo.decode(authInfoBytes)
    const bits = [alice, carol].reduce((sum, { bech32 }) => sum | (0x80 >> indexOf(bech32)), 0)
    const single = { single: { mode: 127 }, multi: undefined }
    expect(signerInfos).toMatchObject([
      {
        sequence: 3n,
        modeInfo: {
          multi: { bitarray: { extraBitsStored: 3, elems: Uint8Array.of(bits) }, modeInfos: [single, single] },
        },
      },
    ])
    const inOrder = [...signatures]
      .toSorted(([a], [b]) => indexOf(a) - indexOf(b))
      .map(([, signature]) => hex(signature))
    expect(MultiSignature.decode(bytes[0]!).signatures.map(hex)).toEqual(inOrder)
  })

  it('takes no more signatures than are needed', async () => {
    const unsigned = await payment('three')
    const files: string[] = []
    for (const name of ['carol', 'alice', 'bob']) {
      const sign = ['tx', 'sign', unsigned, '--from', name, '--multisig', 'three', ...OFFLINE]
      await printed(...sign, '--output-document', `${name}-of-three.json`)
      files.push(`${name}-of-three.json`)
    }
    await printed('tx', 'multisign', unsigned, 'three', ...files, ...OFFLINE, '--output-document', 'two-of-three.json')
    expect(check(await bytesOf('two-of-three.json'))).toMatchObject({
      keyCount: 3,
      signers: [{ signatures: [{}, {}] }],
    })
  })

  it('does not with too few, with wrong signatures or with those of others', async () => {
    const unsigned = await payment('three')
    const sign = async (name: string, ...more: string[]): Promise<string> => {
      const path = `${name}-${more.join('')}.json`
      const args = ['tx', 'sign', unsigned, '--from', name, '--multisig', 'three', ...OFFLINE, ...more]
      await printed(...args, '--output-document', path)
      return path
    }
    const own = await sign('alice')
    const later = await sign('bob', '--sequence', '4')
    const multisign = (...files: string[]) => run('tx', 'multisign', unsigned, 'three', ...files, ...OFFLINE)
    expect(await multisign(own)).toMatchObject({
      code: 64,
      errors: ['the multisig requires 2 signatures, but 1 were given'],
    })
    expect(await multisign(own, own)).toMatchObject({ code: 64 })
    expect(await multisign(own, later)).toMatchObject({ code: 64, errors: [/is wrong for chain ID .* and sequence 3/] })
    const others = await payment('alice')
    expect(await run('tx', 'multisign', others, 'three', own, later, ...OFFLINE)).toMatchObject({
      code: 64,
      errors: [/must be signed by/],
    })
  })

  const indexOf = (bech32: string): number => members.findIndex((member) => member.bech32 === bech32)

  it('of Ethereum is signed once: what has a signature already is refused', async () => {
    const unsigned = serializeTransaction({
      type: 'eip1559',
      chainId: 76287,
      nonce: 3,
      gas: 21_000n,
      to: `0x${'11'.repeat(20)}`,
    })
    const signed = (await printed('tx', 'sign-ethereum', unsigned, '--from', 'alice')).trim()
    expect(await recoverTransactionAddress({ serializedTransaction: signed as `0x02${string}` })).toBe(
      toChecksumAddress(alice.address),
    )
    const { code, errors } = await run('tx', 'sign-ethereum', signed, '--from', 'alice')
    expect(code).toBe(64)
    expect(errors.join()).toMatch(/^not an unsigned transaction of type/)
  })
})
