import { existsSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/configError.ts'
import { checkRuntime } from '../../config/startRules.ts'
import { loadPublicKey, loadValidatorKey } from '../../consensus/validatorKey.ts'
import type { DataPaths } from '../../datadir/dataDirectory.ts'
import { checkInit } from '../../datadir/initNode.ts'
import { loadNodeKey } from '../../p2p/nodeKey.ts'
import { isRoutable, parsePeerAddress } from '../../p2p/peerAddress.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/* What a start reads before anything else: settings, the version of Node.js, keys. */

export function examineSettings(config: Config, paths: DataPaths): readonly Finding[] {
  const findings = [
    existsSync(paths.resetMarker) ? problem('a reset was interrupted: run coind reset --yes again') : undefined,
    refusalOf(() => checkInit(config, paths)),
    ...examineAddresses(config.p2p),
  ].filter((finding) => finding !== undefined)
  return [
    ok(`the settings are valid; ${existsSync(paths.genesis) ? 'there is a chain' : 'there is no chain yet'}`),
    ...findings,
  ]
}

/** Whether this node finds others and they find it, as far as the settings say. */
function examineAddresses({
  exchangesPeers,
  persistentPeers,
  seeds,
  isSeed,
  externalAddress,
  isBookStrict,
  privatePeerIds,
}: Config['p2p']): readonly Finding[] {
  const findings: Finding[] = []
  if (!exchangesPeers && persistentPeers.length === 0) {
    const others = seeds.length === 0 ? 'no peers' : 'only SEEDS, which do not remain connected'
    findings.push(
      problem(`PEX is false and PERSISTENT_PEERS is empty, so the node has ${others}: name its sentries there`),
    )
  }
  if (!exchangesPeers && privatePeerIds.length > 0) {
    findings.push(warning('PEX is false, so PRIVATE_PEER_IDS has no effect here: set it on the sentries'))
  }
  // A node that exchanges no addresses is not announced, and a seed is named in settings.
  if (exchangesPeers && !isSeed && externalAddress === undefined) {
    findings.push(warning('EXTERNAL_P2P_ADDRESS is not set: behind NAT or in a container, peers cannot find this node'))
  }
  const named =
    externalAddress === undefined ? [...persistentPeers, ...seeds].map(({ address }) => address) : [externalAddress]
  const hosts = named.flatMap((address) => parsePeerAddress(address)?.host ?? [])
  if (exchangesPeers && isBookStrict && hosts.length > 0 && !hosts.some(isRoutable)) {
    const subject =
      externalAddress === undefined
        ? 'the peers in the settings have private addresses'
        : `EXTERNAL_P2P_ADDRESS is ${externalAddress}`
    findings.push(
      warning(
        `${subject}, which nodes with ADDR_BOOK_STRICT=true reject: set ADDR_BOOK_STRICT=false on all nodes of a network with private addresses`,
      ),
    )
  }
  return findings
}

/** @param version as in process.versions.node */
export function examineRuntime(version: string): Finding {
  const advice = checkRuntime(version, false)
  return advice === undefined ? ok(`Node.js ${version}`) : warning(advice)
}

/** @returns also the ID of the node, if it has a key */
export function examineKeys(
  paths: DataPaths,
  isRemote: boolean,
): {
  readonly findings: readonly Finding[]
  readonly nodeId: string | undefined
} {
  const consensus = isRemote
    ? readKey('public key of the remote signer', paths.signerPublicKey, loadPublicKey)
    : readKey('consensus key', paths.validatorKey, loadValidatorKey)
  const node = readKey('node key', paths.nodeKey, loadNodeKey)
  const findings = [consensus.finding, ...examineNextKey(paths), node.finding]
  if (existsSync(paths.copyMark)) {
    const text = 'this directory is a copy: its validator does not sign until the original has stopped permanently'
    findings.push(warning(`${text}: see --signer-moved in docs/operations.md`))
  }
  return { findings, nodeId: node.key?.id }
}

/** Examines the key to which the validator rotates, if there is one. */
function examineNextKey({ validatorKey, nextValidatorKey }: DataPaths): readonly Finding[] {
  if (!existsSync(nextValidatorKey)) return []
  const { key, finding } = readKey('next consensus key', nextValidatorKey, loadValidatorKey)
  if (key === undefined) return [finding]
  const address = bytesToHex(key.address).slice(2).toUpperCase()
  const advice = `when the node's /status has its address ${address}, move it to ${validatorKey}`
  return [ok(`${finding.text}, for the heights at which it is in the validator set; ${advice}`)]
}

function readKey<Key>(name: string, path: string, load: (path: string) => Key | undefined) {
  let key: Key | undefined
  const refusal = refusalOf(() => {
    key = load(path)
  })
  const found = key === undefined ? `no ${name} yet: the first start creates ${path}` : `${name} in ${path}`
  return { key, finding: refusal ?? ok(found) }
}

/** Returns the problem for which a check of a start throws. */
export function refusalOf(check: () => void): Finding | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof ConfigError) return problem(error.message)
    throw error
  }
}
