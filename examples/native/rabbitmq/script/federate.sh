#!/bin/sh
# Three sites in a row, each fetching from its neighbours. Nobody thought of max-hops, whose default
# is 1: what is published in Oslo reaches Lund and not Bonn.
set -eu

PASSWORD=${FEDERATION_PASSWORD:-example}

# fetch SITE FROM: rabbit-SITE gets what is published at rabbit-FROM.
fetch() {
    docker exec "rabbit-$1" rabbitmqctl set_parameter federation-upstream "$2" \
        "{\"uri\": \"amqp://federation:${PASSWORD}@rabbit-$2:5672\",
          \"expires\": 3600000}"
}

for site in oslo lund bonn; do
    docker exec "rabbit-$site" rabbitmq-plugins enable rabbitmq_federation
    docker exec "rabbit-$site" rabbitmqctl set_policy --apply-to exchanges federate '^orders$' \
        '{"federation-upstream-set": "all"}'
done

fetch oslo lund
fetch lund oslo
fetch lund bonn
fetch bonn lund
