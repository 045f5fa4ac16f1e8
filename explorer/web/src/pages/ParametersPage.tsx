import { useQuery } from '@tanstack/react-query'
import { parametersQuery } from '../api.ts'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { Data } from '../parts/Data.tsx'

/** The rules of the chain now. Governance changes them. */
export function ParametersPage() {
  const { data, error } = useQuery(parametersQuery)
  if (error !== null) return <Note>{error.message}</Note>
  if (data === undefined) return <Note>Loading …</Note>
  return (
    <>
      <h1>Parameters</h1>
      {data.modules.map(({ name, params }) => (
        <Card key={name} title={name}>
          <Facts
            facts={Object.fromEntries(
              Object.entries(params).map(([key, value]) => [
                key,
                typeof value === 'object' ? (
                  <Data key={key}>{JSON.stringify(value, undefined, 2)}</Data>
                ) : (
                  <span key={key} className="mono">
                    {String(value)}
                  </span>
                ),
              ]),
            )}
          />
        </Card>
      ))}
    </>
  )
}
