import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createValidatorKey, formatPublicKey } from '../../../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../../../src/datadir/dataDirectory.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { runInProcess } from '../../../support/cli/inProcess.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-comet-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

it.each(['comet', 'cometbft', 'tendermint'])('coind %s shows the validator key of a node', async (name) => {
  const run = (command: string) => runInProcess(directory, [name, command, '--homedir', directory])
  expect(await run('show-address')).toMatchObject({ code: 64, errors: [/priv_validator_key\.json does not exist/] })
  const path = dataPaths(directory).validatorKey
  mkdirSync(dirname(path))
  const key = createValidatorKey(path, new Uint8Array(32).fill(7))
  expect((await run('show-address')).printed).toBe(`${toBech32(key.address, 'coinvalcons')}\n`)
  expect(JSON.parse((await run('show-validator')).printed)).toEqual({
    '@type': '/cosmos.crypto.ed25519.PubKey',
    key: Buffer.from(key.publicKey).toString('base64'),
  })
})

it('shows the key that a remote signer has said', async () => {
  const { publicKey } = createValidatorKey(join(directory, 'elsewhere.json'), new Uint8Array(32).fill(8))
  const path = dataPaths(directory).signerPublicKey
  mkdirSync(dirname(path))
  writeFileSync(path, JSON.stringify(formatPublicKey(publicKey)))
  const { printed } = await runInProcess(directory, ['comet', 'show-validator', '--homedir', directory])
  expect(JSON.parse(printed).key).toBe(Buffer.from(publicKey).toString('base64'))
})
