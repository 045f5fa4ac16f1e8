import { useQuery } from '@tanstack/react-query'
import { type Abi, decodeAbiParameters, type Hex } from 'viem'
import type { Decoded } from '../abi/decode.ts'
import { formatNumber, formatTime } from '../format.ts'
import { type ContractSource, sourceQuery } from '../verificationApi.ts'
import { Facts, Note } from './Card.tsx'
import { Data } from './Data.tsx'
import { DecodedFields } from './DecodedCall.tsx'
import { AddressLink, Copyable } from './Names.tsx'

/** Texts for a match of bytecode. */
const MATCHES = {
  exact_match: 'the same, including metadata',
  match: 'the same, except metadata',
  none: 'not compared, or different',
} as const

/** The sources of a verified contract, and how it was compiled. */
export function SourceTab({ address }: { readonly address: string }) {
  const { data: source, error } = useQuery(sourceQuery(address))
  if (error !== null) return <Note>{error.message}</Note>
  if (source === undefined) return <Note>Loading …</Note>
  const { name, path, match, runtimeMatch, creationMatch, compilerVersion, verifiedAt, libraries, settings, abi } =
    source
  const constructorArguments = readArguments(source)
  return (
    <>
      <Facts
        facts={{
          Contract: <b>{name}</b>,
          Verified: (
            <>
              {match === 'exact_match' ? 'exact match' : 'match: the code is the same'}, {formatTime(verifiedAt)}
            </>
          ),
          'Deployed code': MATCHES[runtimeMatch ?? 'none'],
          'Creation code': MATCHES[creationMatch ?? 'none'],
          Compiler: `solc ${compilerVersion}`,
          Settings: <span className="mono">{settingsLine(settings)}</span>,
          Libraries:
            libraries.length === 0 ? undefined : (
              <ul className="values">
                {libraries.map((library) => (
                  <li key={library.name}>
                    {library.name}: <AddressLink address={library.address} isShort={false} />
                  </li>
                ))}
              </ul>
            ),
        }}
      />
      {source.constructorArguments !== null && (
        <section className="part">
          <h2>Constructor arguments</h2>
          {constructorArguments !== undefined && <DecodedFields decoded={constructorArguments} />}
          <Data>{source.constructorArguments}</Data>
        </section>
      )}
      <section className="part sources">
        <h2>Sources</h2>
        {ordered(source.sources, path).map(({ path: own, content }) => (
          <details key={own} open={own === path}>
            <summary>
              <span className="mono">{own}</span>{' '}
              <span className="quiet">{formatNumber(content.split('\n').length)} lines</span>
            </summary>
            <Data isCode>{content}</Data>
          </details>
        ))}
      </section>
      <section className="part sources">
        <h2>Interface</h2>
        <details>
          <summary>ABI, {formatNumber(abi.length)} entries</summary>
          <Copyable text={JSON.stringify(abi)} />
        </details>
      </section>
    </>
  )
}

/** The contract's own source first. */
function ordered(sources: ContractSource['sources'], path: string): ContractSource['sources'] {
  return sources.toSorted((a, b) => Number(b.path === path) - Number(a.path === path))
}

interface Settings {
  readonly optimizer?: { readonly enabled?: boolean; readonly runs?: number }
  readonly evmVersion?: string
  readonly viaIR?: boolean
}

function settingsLine(settings: ContractSource['settings']): string {
  const { optimizer, evmVersion, viaIR } = settings as Settings
  return [
    optimizer?.enabled === true ? `optimized, ${optimizer.runs ?? 200} runs` : 'not optimized',
    viaIR === true ? 'via IR' : undefined,
    evmVersion === undefined ? undefined : `EVM ${evmVersion}`,
  ]
    .filter((part) => part !== undefined)
    .join(' · ')
}

function readArguments({ abi, constructorArguments }: ContractSource): Decoded | undefined {
  if (constructorArguments === null) return undefined
  const own = (abi as unknown as Abi).find((item) => item.type === 'constructor')
  try {
    const values = decodeAbiParameters(own?.inputs ?? [], constructorArguments as Hex)
    const fields = (own?.inputs ?? []).map(({ name, type }, index) => ({
      name: name ?? '',
      type,
      value: values[index],
    }))
    return { name: '', fields }
  } catch {
    // The deployer may have appended anything to the code.
    return undefined
  }
}
