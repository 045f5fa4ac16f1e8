import { existsSync } from 'node:fs'
import type { DataPaths } from '../../app/dataDirectory.ts'
import { checkInit } from '../../app/initNode.ts'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/configError.ts'
import { checkRuntime } from '../../config/startRules.ts'
import { loadValidatorKey } from '../../consensus/validatorKey.ts'
import { loadNodeKey } from '../../p2p/nodeKey.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/* What a start reads before anything else: settings, the version of Node.js, keys. */

export function examineSettings(config: Config, paths: DataPaths): readonly Finding[] {
  const findings = [
    existsSync(paths.resetMarker) ? problem('a reset was interrupted: run coind reset --yes again') : undefined,
    refusalOf(() => checkInit(config, paths)),
    config.p2p.externalAddress === undefined
      ? warning('EXTERNAL_P2P_ADDRESS is not set: behind NAT or in a container, peers cannot find this node')
      : undefined,
  ].filter((finding) => finding !== undefined)
  return [
    ok(`they can be read; ${existsSync(paths.genesis) ? 'there is a chain' : 'there is no chain yet'}`),
    ...findings,
  ]
}

/** @param version as in process.versions.node */
export function examineRuntime(version: string): Finding {
  const advice = checkRuntime(version, false)
  return advice === undefined ? ok(`Node.js ${version}`) : warning(advice)
}

/** @returns also the ID of the node, if it has a key */
export function examineKeys(paths: DataPaths): {
  readonly findings: readonly Finding[]
  readonly nodeId: string | undefined
} {
  const consensus = readKey('consensus key', paths.validatorKey, loadValidatorKey)
  const node = readKey('node key', paths.nodeKey, loadNodeKey)
  const findings = [consensus.finding, node.finding]
  if (existsSync(paths.copyMark)) {
    const text = 'this directory is a copy, whose validator does not sign before the original has stopped for good'
    findings.push(warning(`${text}: see --signer-moved in docs/operations.md`))
  }
  return { findings, nodeId: node.key?.id }
}

function readKey<Key>(name: string, path: string, load: (path: string) => Key | undefined) {
  let key: Key | undefined
  const refusal = refusalOf(() => {
    key = load(path)
  })
  const found = key === undefined ? `no ${name} yet: the first start makes ${path}` : `${name} in ${path}`
  return { key, finding: refusal ?? ok(found) }
}

function refusalOf(check: () => void): Finding | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof ConfigError) return problem(error.message)
    throw error
  }
}
