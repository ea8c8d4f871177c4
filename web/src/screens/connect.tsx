import { useCaller } from '../caller';
import { connectionsOf, type Connection } from '../log/connect';
import { setQuery, useQuery } from '../router';
import { useFaces, useScope } from '../scope';
import { CopyText, Loading, Problem } from '../ui/parts';
import { Tabs } from '../ui/tabs';

/** How other clients talk to an application. */
export function Connect({ app }: { app: string }) {
  const faces = useFaces();
  const { user } = useScope();
  const token = useCaller()?.signedIn ?? false;
  const wanted = useQuery().get('connect');
  const all = connectionsOf(faces.data ?? [], { origin: window.location.origin, app, user, token });
  return (
    <section aria-labelledby="connect" className="mb-6 rounded-lg border border-line bg-sheet">
      <header className="px-4 pt-3 pb-1">
        <h2 id="connect" className="text-base font-semibold">Connect</h2>
        <p className="text-soft">Other clients talk to the same sessions. Choose the protocol of your client.</p>
      </header>
      {faces.isPending && <div className="px-4"><Loading what="the protocols" /></div>}
      {faces.error && <div className="p-4"><Problem error={faces.error} what="The protocols could not be listed" retry={() => void faces.refetch()} /></div>}
      {faces.data && (
        <Tabs
          label="Protocols"
          value={(all.find((c) => c.name === wanted) ?? all[0]!).name}
          onChange={(name) => setQuery({ connect: name })}
          tabs={all.map((one) => ({ id: one.name, label: one.title, content: <Instructions connection={one} /> }))}
        />
      )}
    </section>
  );
}

function Instructions({ connection: { address, snippets } }: { connection: Connection }) {
  return (
    <div className="space-y-3">
      <Copyable title="address" text={address} copyLabel="Copy the address" />
      {snippets.map(({ title, code }) => <Copyable key={title} title={title} text={code} copyLabel={`Copy the code for ${title}`} />)}
    </div>
  );
}

function Copyable({ title, text, copyLabel }: { title: string; text: string; copyLabel: string }) {
  return (
    <figure>
      <figcaption className="label mb-0.5">{title}</figcaption>
      <div className="flex items-start rounded-md bg-sunk">
        <pre className="json min-w-0 flex-1 px-3 py-2">{text}</pre>
        <CopyText text={text} label={copyLabel} />
      </div>
    </figure>
  );
}
