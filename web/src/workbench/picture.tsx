import * as Radix from '@radix-ui/react-dialog';
import { useState } from 'react';

import { Button } from '../ui/parts';

/** A picture in the log. A click shows it as large as the screen allows. */
export function Picture({ address, name }: { address: string; name: string }) {
  const [open, setOpen] = useState(false);
  return (
    <Radix.Root open={open} onOpenChange={setOpen}>
      <Radix.Trigger asChild>
        <button type="button" title={`Enlarge ${name}`} className="my-1 block w-fit cursor-zoom-in">
          <img src={address} alt={name} className="max-h-72 min-h-8 min-w-8 max-w-full rounded-md border border-line bg-sheet" />
        </button>
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/75" />
        <Radix.Content aria-describedby={undefined} onClick={() => setOpen(false)} className="fixed inset-0 z-40 flex cursor-zoom-out flex-col items-center justify-center gap-2 p-4">
          <Radix.Title className="sr-only">{name}</Radix.Title>
          <img src={address} alt={name} className="max-h-[calc(100vh-96px)] min-h-24 max-w-full rounded-md bg-sheet object-contain" />
          <Radix.Close asChild><Button icon="close">Close</Button></Radix.Close>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
