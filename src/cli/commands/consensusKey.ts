import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { createValidatorKey, loadPublicKey, loadValidatorKey } from '../../consensus/validatorKey.ts'
import { type DataPaths, dataPaths } from '../../datadir/dataDirectory.ts'
import { Ed25519PubKey } from '../../modules/tx/publicKey.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { ED25519_KEY_LENGTH, ed25519Address } from '../../primitives/ed25519.ts'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

/**
 * Adds `coind consensus-key`: shows the keys with which the node's validator signs, and the one to
 * which it rotates.
 */
export function addConsensusKey(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const group = program.command('consensus-key').description("Manage the consensus keys of the node's validator")
  const pathsOf = (command: Command): DataPaths => dataPaths(configOf(command, terminal).homedir)

  const show = group.command('show').description('Print the public consensus keys in the data directory')
  addConfigFlags(show).action(() => {
    const { validatorKey, signerPublicKey, nextValidatorKey } = pathsOf(show)
    const found = [validatorKey, signerPublicKey, nextValidatorKey].flatMap((path) => {
      const publicKey = path === signerPublicKey ? loadPublicKey(path) : loadValidatorKey(path)?.publicKey
      return publicKey === undefined ? [] : [describe(path, publicKey)]
    })
    if (found.length === 0) throw new ConfigError(`${validatorKey} does not exist: run coind init first`)
    terminal.print(found.join('\n'))
  })

  const next = group
    .command('next')
    .description('Create the key to rotate to, next to the current one; the node reads it at its next start')
  addConfigFlags(next).action(() => {
    const { validatorKey, signerPublicKey, nextValidatorKey } = pathsOf(next)
    if (loadValidatorKey(validatorKey) === undefined && loadPublicKey(signerPublicKey) === undefined) {
      throw new ConfigError(`${validatorKey} does not exist: create a key with coind init first`)
    }
    const { publicKey } = createValidatorKey(nextValidatorKey, randomBytes(ED25519_KEY_LENGTH))
    terminal.print(`${describe(nextValidatorKey, publicKey)}
Restart the node, so that it has both keys. Then run:

  coind tx staking rotate-cons-pub-key '${publicKeyJson(publicKey)}' --from <operator>
`)
  })
}

/** Returns a public consensus key as the SDK's commands print and read it. */
export function publicKeyJson(publicKey: Uint8Array): string {
  return JSON.stringify({ '@type': Ed25519PubKey.typeUrl, key: Buffer.from(publicKey).toString('base64') })
}

function describe(path: string, publicKey: Uint8Array): string {
  return `${path}
  address     ${bytesToHex(ed25519Address(publicKey)).slice(2).toUpperCase()}
  public key  ${publicKeyJson(publicKey)}
`
}
